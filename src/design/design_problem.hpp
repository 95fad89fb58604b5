#pragma once
// The best split of the budgets as a tree of boxes (docs/search.md, section 14).

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "design/split_space.hpp"
#include "engine/search_options.hpp"
#include "engine/search_result.hpp"
#include "engine/tree/search_problem.hpp"
#include "model/problem.hpp"
#include "technology/derive.hpp"
#include "technology/optimistic_chip.hpp"

namespace dfsearch {

/// A SearchProblem for engine/tree: nodes are boxes of splits, solutions are splits.  Bounds
/// come from the best mapping onto the optimistic chip of a box.  Many threads use it; the
/// answers for machines that were met are shared.
class DesignProblem {
 public:
  struct Node {
    SplitBox box;
    Score bound{};
  };
  struct Solution {
    GridPoint point;
    Score objective{};
  };

  /// `options` are those of the searches for mappings; all arguments must outlive it.
  DesignProblem(const Problem& problem, const ChipDesign& design, const SplitSpace& space,
                const SearchOptions& options);

  [[nodiscard]] Node root() const;
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

  /// The machine with the chip of a split; nothing if there is none that can run.
  [[nodiscard]] std::optional<Problem> machine_of(const GridPoint& point) const;
  /// How many machines were searched for their best mapping.
  [[nodiscard]] std::int64_t machines() const;

 private:
  using Key = std::vector<double>;

  using Halves = std::array<std::optional<Node>, 2>;

  /// Nothing if no split of the box makes a chip that runs anything.
  [[nodiscard]] std::optional<Node> bounded(SplitBox box, Score parent) const;
  [[nodiscard]] Halves halves(const SplitBox& box, std::size_t share, Score parent,
                              Score cutoff) const;
  std::optional<std::size_t> cut(SplitBox& box, Score parent, Score cutoff) const;
  [[nodiscard]] std::optional<Problem> with_chip(const Chip& chip) const;
  /// The least objective of any mapping onto the machine; infinite: none fits.
  [[nodiscard]] Score answer(const Problem& machine) const;
  void offer(const GridPoint& point, Expansion<Node, Solution>& out) const;

  const Problem& problem_;
  const ChipDesign& design_;
  const SplitSpace& space_;
  const SearchOptions& options_;
  mutable std::mutex mutex_;
  mutable std::map<Key, Score> answers_;  // guarded by mutex_
};

static_assert(SearchProblem<DesignProblem>);

}  // namespace dfsearch
