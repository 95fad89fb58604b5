#pragma once
// The best split of the budgets as a tree of boxes (docs/search.md, section 14).

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/memory_budget.hpp"
#include "base/units.hpp"
#include "design/machine_answers.hpp"
#include "design/split_space.hpp"
#include "engine/tree/search_problem.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// A SearchProblem for engine/tree: nodes are boxes of splits, solutions are splits.  Bounds
/// come from the best mapping onto the optimistic chip of a box.  Many threads use it.
class DesignProblem {
 public:
  struct Node {
    SplitBox box;
    Score bound{};
  };
  struct Solution {
    GridPoint point;
    Score objective{};
    std::shared_ptr<const Mapping> mapping;  ///< onto the chip of the split
  };

  /// All arguments must outlive it.
  DesignProblem(const Problem& problem, const ChipDesign& design, const SplitSpace& space,
                const Deadline& deadline, MachineAnswers& answers);

  /// Excludes a split from the search.  Not to be called during a search.
  void exclude(GridPoint point) { excluded_.push_back(std::move(point)); }

  [[nodiscard]] Node root() const { return {.box = space_.all()}; }
  [[nodiscard]] Score bound(const Node& node) const { return node.bound; }
  [[nodiscard]] Score cost(const Solution& solution) const { return solution.objective; }
  [[nodiscard]] bool precedes(const Solution& a, const Solution& b) const {
    return a.point < b.point;
  }
  /// The first point of a box is its least.
  [[nodiscard]] bool before(const Node& node, const Solution& solution) const {
    return node.box.least < solution.point;
  }
  [[nodiscard]] bool admit(const Node&) const { return true; }
  void branch(const Node& node, Expansion<Node, Solution>& out) const;
  [[nodiscard]] std::size_t heap_bytes(const Node& node) const {
    return 2 * (node.box.least.capacity() * sizeof(GridPoint::value_type) + kAllocation);
  }

  /// The machine with the chip of a split; nothing if no such machine can run.
  [[nodiscard]] std::optional<Problem> machine_of(const GridPoint& point) const;
  /// A split with its best mapping; nothing if there is none.  Throws Stopped.
  [[nodiscard]] std::optional<Solution> solution(const GridPoint& point) const;
  /// A box with its bound; nothing if no split of it gives a chip that runs anything, or no mapping
  /// below the cutoff.  Throws Stopped.
  [[nodiscard]] std::optional<Node> node(SplitBox box, Score cutoff) const;

 private:
  using Halves = std::array<std::optional<Node>, 2>;

  [[nodiscard]] bool is_excluded(const GridPoint& point) const;
  /// A bound above the cutoff may be any valid lower bound.
  [[nodiscard]] std::optional<Node> bounded(SplitBox box, Score parent, Score cutoff) const;
  [[nodiscard]] Halves halves(const SplitBox& box, std::size_t share, Score parent,
                              Score cutoff) const;
  std::optional<std::size_t> cut(SplitBox& box, Score parent, Score cutoff) const;
  void offer(const GridPoint& point, Expansion<Node, Solution>& out) const;

  const Problem& problem_;
  const ChipDesign& design_;
  const SplitSpace& space_;
  const Deadline& deadline_;
  MachineAnswers& answers_;
  std::vector<GridPoint> excluded_;
};

static_assert(SearchProblem<DesignProblem>);

}  // namespace dfsearch
