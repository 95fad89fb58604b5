#pragma once
// The executions of a task as a tree for branch and bound.

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/deadline.hpp"
#include "base/units.hpp"
#include "engine/calculon/execution_space.hpp"
#include "engine/tree/search_problem.hpp"

namespace dfsearch::calculon {

/// An execution of which the decisions up to a level are taken.
struct ExecutionNode {
  enum class Level : std::uint8_t {
    Root,
    Tensor,      ///< the tensor degree
    Degrees,     ///< all degrees and the batch
    MicroBatch,  ///< the micro-batch
    Schedule,    ///< the chunks
    Shape,       ///< all but networks and the overlap of data ranks; it fits in memory
  };
  Level level = Level::Root;
  Execution execution;
  Score bound{};
};

/// A complete execution that fits, and its step time.
struct ExecutionSolution {
  Execution execution;
  Decisions decisions{};
  Score cost{};
};

/// The degrees of one parallelism.
using Degrees = std::array<std::int64_t, 3>;

/// A SearchProblem.  Memory is asked before time, networks come last (docs/search.md, section
/// 13).  The counters are relaxed atomics: they are read when the search is over.
class ExecutionTree {
 public:
  using Node = ExecutionNode;
  using Solution = ExecutionSolution;

  /// Executions of the degrees `excluded` are no solutions.  `branch` throws Stopped when the
  /// deadline has passed.
  ExecutionTree(const Task& task, std::vector<Degrees> excluded, const Deadline& deadline)
      : space_(task), excluded_(std::move(excluded)), deadline_(deadline) {}

  [[nodiscard]] Node root() const { return {}; }
  [[nodiscard]] Score bound(const Node& node) const { return node.bound; }
  [[nodiscard]] Score cost(const Solution& solution) const { return solution.cost; }
  [[nodiscard]] bool precedes(const Solution& a, const Solution& b) const {
    return a.decisions < b.decisions;
  }
  /// Whether the decisions of the node come before those of the solution, or agree with them.
  [[nodiscard]] bool before(const Node& node, const Solution& solution) const;
  [[nodiscard]] bool contains(const Node& node, const Solution& solution) const;
  [[nodiscard]] bool admit(const Node&) const { return true; }
  void branch(const Node& node, Expansion<Node, Solution>& expansion) const;

  /// Executions whose step time was computed.
  [[nodiscard]] std::int64_t evaluated() const {
    return evaluated_.load(std::memory_order_relaxed);
  }
  /// Executions, up to their networks, whose memory was computed.
  [[nodiscard]] std::int64_t measured() const { return measured_.load(std::memory_order_relaxed); }

 private:
  void branch_root(const Node& node, Expansion<Node, Solution>& expansion) const;
  void branch_tensor(const Node& node, Expansion<Node, Solution>& expansion) const;
  void branch_degrees(const Node& node, Expansion<Node, Solution>& expansion) const;
  void branch_micro_batch(const Node& node, Expansion<Node, Solution>& expansion) const;
  void branch_schedule(const Node& node, Expansion<Node, Solution>& expansion) const;
  void branch_shape(const Node& node, Expansion<Node, Solution>& expansion) const;

  const ExecutionSpace space_;
  const std::vector<Degrees> excluded_;
  const Deadline deadline_;
  mutable std::atomic<std::int64_t> evaluated_{0};
  mutable std::atomic<std::int64_t> measured_{0};
};

}  // namespace dfsearch::calculon
