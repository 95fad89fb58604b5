#pragma once
// Conversions of one value on several axes of the machine at once (docs/training.md, section 2).

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

#include "model/training/layouts.hpp"

namespace dfsearch::training {

inline constexpr std::size_t kAxes = 3;

/// The layout of a value on each axis, by Axis.
using JointLayout = std::array<ValueLayout, kAxes>;

/// On one axis a layout is made of another, whatever the value is on the others.
struct AxisPassage {
  ValueLayout from = ValueLayout::Replicated;
  ValueLayout to = ValueLayout::Replicated;
  const Conversion* by = nullptr;  ///< null: a slice, which nobody sends
};

/// The passages of each axis: a tree from where the value begins.
using JointPassages = std::array<std::vector<AxisPassage>, kAxes>;

/// One of them, done while the value lies so on the other axes.
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
/// conversions on several axes commute, each may come first, and what is there once serves all.
/// A slice costs nothing.
std::vector<JointStep> cheapest_steps(const JointLayout& root, const JointPassages& passages,
                                      const std::vector<JointLayout>& wanted,
                                      const std::function<JointCost(const JointStep&)>& cost);

}  // namespace dfsearch::training
