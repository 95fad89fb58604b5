#pragma once
// The plans of a task as a tree for branch and bound.

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/deadline.hpp"
#include "base/units.hpp"
#include "engine/training/plan_space.hpp"
#include "engine/tree/search_problem.hpp"
#include "model/training/layout_shelf.hpp"

namespace dfsearch::training {

/// A plan of which the decisions up to a level are taken.
struct PlanNode {
  enum class Level : std::uint8_t {
    Root,
    Inner,       ///< degrees within a sample and of experts
    MicroBatch,  ///< all degrees and the micro-batch
    Layout,      ///< and how values lie among the tensor ranks
    Shape,       ///< all but layers and network; some spread of the layers fits in memory
  };
  Level level = Level::Root;
  Plan plan;
  Score bound{};
  std::vector<Score> layouts{};  ///< at MicroBatch: the bound of each of PlanSpace::layouts
};

struct PlanSolution {
  Plan plan;
  Score cost{};
};

/// A SearchProblem.  Memory is asked before time, networks come last (docs/search.md, section
/// 15).  The counters are relaxed atomics: they are read when the search is over.
class PlanTree {
 public:
  using Node = PlanNode;
  using Solution = PlanSolution;

  /// Plans of the degrees `excluded` are no solutions.  `branch` throws Stopped when the deadline
  /// has passed.  Refers to the space and the shelf.
  PlanTree(const PlanSpace& space, LayoutShelf& shelf, std::vector<Degrees> excluded,
           const Deadline& deadline)
      : space_(space), shelf_(shelf), excluded_(std::move(excluded)), deadline_(deadline) {}

  [[nodiscard]] Node root() const;
  [[nodiscard]] Score bound(const Node& node) const { return node.bound; }
  [[nodiscard]] Score cost(const Solution& solution) const { return solution.cost; }
  [[nodiscard]] bool precedes(const Solution& a, const Solution& b) const {
    return a.plan < b.plan;
  }
  /// Whether the decisions of the node come before those of the solution, or agree with them.
  [[nodiscard]] bool before(const Node& node, const Solution& solution) const;
  [[nodiscard]] bool contains(const Node& node, const Solution& solution) const;
  [[nodiscard]] bool admit(const Node&) const { return true; }
  void branch(const Node& node, Expansion<Node, Solution>& expansion) const;

  /// Plans, but for layers and network, whose memory was computed.
  [[nodiscard]] std::int64_t measured() const { return measured_.load(std::memory_order_relaxed); }
  /// Plans whose step time was computed.
  [[nodiscard]] std::int64_t evaluated() const {
    return evaluated_.load(std::memory_order_relaxed);
  }

 private:
  void branch_root(const Node& node, Expansion<Node, Solution>& expansion) const;
  void branch_inner(const Node& node, Expansion<Node, Solution>& expansion) const;
  void branch_micro_batch(const Node& node, Expansion<Node, Solution>& expansion) const;
  void branch_layout(const Node& node, Expansion<Node, Solution>& expansion) const;
  void branch_shape(const Node& node, Expansion<Node, Solution>& expansion) const;
  [[nodiscard]] std::vector<Node> layouts_of(const Node& node) const;
  [[nodiscard]] std::vector<Node> shapes_of(const Node& node, Score cutoff) const;
  void seed(Expansion<Node, Solution>& expansion) const;
  void dive(std::vector<Node> nodes, Expansion<Node, Solution>& expansion) const;

  const PlanSpace& space_;
  LayoutShelf& shelf_;
  const std::vector<Degrees> excluded_;
  const Deadline deadline_;
  mutable std::atomic<std::int64_t> measured_{0};
  mutable std::atomic<std::int64_t> evaluated_{0};
};

}  // namespace dfsearch::training
