#pragma once
// The splits that a budget leaves to the search, as a grid, boxes of them, and the state of a
// search over them.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "engine/tree/tree_search.hpp"
#include "technology/budget.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

struct OpenShare {
  BudgetClass budget = BudgetClass::DieArea;
  Component part = Component::Core;
};

/// Steps of every open share, in the order of ties: area, power, edge, and in each class by
/// component.
using GridPoint = std::vector<std::int32_t>;

/// All points from `least` to `most`, both included, that keep the sums of the classes.
struct SplitBox {
  GridPoint least;
  GridPoint most;

  [[nodiscard]] bool is_point() const { return least == most; }
};

/// Immutable.
class SplitSpace {
 public:
  explicit SplitSpace(const ChipDesign& design);

  [[nodiscard]] const std::vector<OpenShare>& shares() const { return shares_; }
  [[nodiscard]] SplitBox all() const;
  /// Number of points that keep the sums; it may exceed the integers.
  [[nodiscard]] double count() const;

  /// Lowers each entry of `most` to the amount that the sums leave if all other shares are at their
  /// least.  Returns false if the box is empty.
  [[nodiscard]] bool tighten(SplitBox& box) const;
  /// A point of a tightened box that uses up the budgets, in proportion to the widths of the
  /// shares; the greatest point if the sums are unchecked.
  [[nodiscard]] GridPoint middle(const SplitBox& box) const;
  [[nodiscard]] Split split(const GridPoint& point) const;

 private:
  static constexpr std::size_t kClasses = 3;

  const ChipDesign& design_;
  std::vector<OpenShare> shares_;
  std::array<std::int32_t, kClasses> steps_{};  // per class: steps left by the given shares
};

/// The state of a search over splits, for checkpoints.  Bounds of boxes and step times of splits
/// are not part of it: they are recomputed.
struct SplitState {
  /// The best split except those before it; the search for it is over.
  struct Finished {
    GridPoint point;
    Score lower_bound{};  ///< of all splits except those before it
  };
  std::vector<Finished> finished;  ///< best first

  // The tree that searches the next split.
  bool begun = false;  ///< else `open` stands for the whole space
  std::vector<SplitBox> open;
  std::optional<GridPoint> incumbent;

  SearchStats stats;  ///< of all runs together; nodes are boxes
};

}  // namespace dfsearch
