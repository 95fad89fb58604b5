#pragma once
// From one layout of a value to others (docs/training.md, section 2).

#include <array>
#include <cstdint>
#include <optional>

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

/// From which layout each of several is made: that of the value or another of the several.
struct ConversionTree {
  LayoutCost cost{};                           ///< infinite if a layout cannot be made
  std::array<ValueLayout, kLayouts> source{};  ///< by layout; of those that are wanted
};

/// What the conversion from one layout to another costs; asked only of pairs that differ.
using PassageCost = std::function<LayoutCost(ValueLayout from, ValueLayout to)>;

/// The cheapest tree from `root` to all of `wanted`: a layout that is there once may be made of
/// any other that is there.  An all-reduced value, for one, is split for nothing.
ConversionTree cheapest_tree(ValueLayout root, LayoutSet wanted, const PassageCost& cost);

}  // namespace dfsearch::training
