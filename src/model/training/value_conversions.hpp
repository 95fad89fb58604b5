#pragma once
// Conversions of a value from one layout to others, on one axis of the machine or on several at
// once (docs/training.md, section 2).

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "model/training/layouts.hpp"

namespace dfsearch::training {

/// Whether each head of keys and values is on several chips, because there are fewer heads than
/// chips.  The layout Features then means that each chip has the head that its queries read
/// (OfValue), or a summand of the gradient of this head (OfGradient).
enum class HeadCopies : std::uint8_t { None, OfValue, OfGradient };

HeadCopies head_copies(const DataflowGraph& graph, std::size_t value, const AxisRules& axis);

/// Whether one layout can be made of another, and by which collective; a slice needs none.
struct Passage {
  bool possible = false;
  std::optional<Exchange> exchange = std::nullopt;
};

Passage passage(ValueLayout from, ValueLayout to, HeadCopies copies);

/// Layouts as the bits of a number.
using LayoutSet = std::uint8_t;
constexpr LayoutSet layout_bit(ValueLayout layout) {
  return static_cast<LayoutSet>(1U << static_cast<unsigned>(layout));
}

/// The source of each required layout: the layout of the value, or another required layout.
struct ConversionTree {
  LayoutCost cost{};                           ///< infinite if a layout cannot be made
  std::array<ValueLayout, kLayouts> source{};  ///< by layout, for required layouts
};

/// The cost of a conversion from one layout to another; called only for pairs that differ.
using PassageCost = std::function<LayoutCost(ValueLayout from, ValueLayout to)>;

/// The cheapest tree from `root` to all of `wanted`.  A layout may be made of any layout that
/// exists already; for example, a slice of an all-reduced value is free.
ConversionTree cheapest_tree(ValueLayout root, LayoutSet wanted, const PassageCost& cost);

inline constexpr std::size_t kAxes = 3;

using JointLayout = std::array<ValueLayout, kAxes>;

/// A change of layout on one axis, for any layouts on the other axes.
struct AxisPassage {
  ValueLayout from = ValueLayout::Replicated;
  ValueLayout to = ValueLayout::Replicated;
  const Conversion* by = nullptr;  ///< null: a slice, for which nothing is sent
};

/// The passages of each axis, which form a tree from the first layout of the value.
using JointPassages = std::array<std::vector<AxisPassage>, kAxes>;

/// A passage at a time when the value has the layouts `at` on the other axes.
struct JointStep {
  std::size_t axis = 0;
  AxisPassage passage;
  JointLayout at{};  ///< on the own axis, this is `passage.from`

  friend bool operator==(const JointStep& a, const JointStep& b) {
    return a.axis == b.axis && a.passage.to == b.passage.to && a.at == b.at;
  }
};

/// Criteria in lexicographic order, each at least 0.
using JointCost = std::array<double, 2>;

/// The steps that make all of `wanted` from `root` at exactly the least sum of costs.  Conversions
/// on different axes commute, so steps may come in any order, and a layout that was made once is
/// used for all further ones.  A slice costs nothing.
std::vector<JointStep> cheapest_steps(const JointLayout& root, const JointPassages& passages,
                                      const std::vector<JointLayout>& wanted,
                                      const std::function<JointCost(const JointStep&)>& cost);

}  // namespace dfsearch::training
