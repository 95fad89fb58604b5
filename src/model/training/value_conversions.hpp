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

/// Whether heads of keys and values are on several chips, because there are fewer heads than
/// chips, and what Features then means: each chip has the head that its queries read, or a
/// summand of the gradient of this head.
enum class HeadCopies : std::uint8_t { None, OfValue, OfGradient };

HeadCopies head_copies(const DataflowGraph& graph, std::size_t value, const AxisRules& axis);

/// Whether one layout can be made of another, and the collective that it takes, if any.
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

/// The source of each of several layouts: the layout of the value or another one of the several.
struct ConversionTree {
  LayoutCost cost{};                           ///< infinite if a layout cannot be made
  std::array<ValueLayout, kLayouts> source{};  ///< by layout, for the wanted ones
};

/// The cost of a conversion from one layout to another; called only for pairs that differ.
using PassageCost = std::function<LayoutCost(ValueLayout from, ValueLayout to)>;

/// The cheapest tree from `root` to all of `wanted`: a layout that is there once may be made of
/// any other that is there; for example a slice of an all-reduced value is free.
ConversionTree cheapest_tree(ValueLayout root, LayoutSet wanted, const PassageCost& cost);

inline constexpr std::size_t kAxes = 3;

using JointLayout = std::array<ValueLayout, kAxes>;

/// On one axis a layout is made of another, for any layouts on the other axes.
struct AxisPassage {
  ValueLayout from = ValueLayout::Replicated;
  ValueLayout to = ValueLayout::Replicated;
  const Conversion* by = nullptr;  ///< null: a slice, which is not sent
};

/// The passages of each axis: a tree from where the value begins.
using JointPassages = std::array<std::vector<AxisPassage>, kAxes>;

/// A passage, done while the value has these layouts on the other axes.
struct JointStep {
  std::size_t axis = 0;
  AxisPassage passage;
  JointLayout at{};  ///< on its own axis `passage.from`

  friend bool operator==(const JointStep& a, const JointStep& b) {
    return a.axis == b.axis && a.passage.to == b.passage.to && a.at == b.at;
  }
};

/// Compared one after the other; at least 0.
using JointCost = std::array<double, 2>;

/// The steps that make all of `wanted` from `root` at the least sum of their costs, exactly: as
/// conversions on several axes commute, each may come first, and a layout once made serves all.
/// A slice costs nothing.
std::vector<JointStep> cheapest_steps(const JointLayout& root, const JointPassages& passages,
                                      const std::vector<JointLayout>& wanted,
                                      const std::function<JointCost(const JointStep&)>& cost);

}  // namespace dfsearch::training
