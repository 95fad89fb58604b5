#pragma once
// The loops of a kernel that a tensor group divides, one for each axis of the group.

#include <array>
#include <compare>
#include <cstddef>

#include "graph/kernel.hpp"

namespace dfsearch {

inline constexpr std::size_t kLoops = 5;
/// Axes of a tensor group: one, or two where its chips form a grid.
inline constexpr std::size_t kTensorAxes = 2;
inline constexpr std::size_t kLoopPairs = kLoops * kLoops;

/// Ordered as equally good shardings are preferred: those that leave the second axis alone come
/// first, in the order of `Loop`.
struct LoopPair {
  std::array<Loop, kTensorAxes> loops{Loop::None, Loop::None};  ///< by axis

  constexpr LoopPair() = default;
  // A loop is divided along the first axis.  NOLINTNEXTLINE(google-explicit-constructor)
  constexpr LoopPair(Loop first, Loop second = Loop::None) : loops{first, second} {}
  /// The pair with this index.
  static constexpr LoopPair at(std::size_t index) {
    return {static_cast<Loop>(index % kLoops), static_cast<Loop>(index / kLoops)};
  }

  [[nodiscard]] constexpr std::size_t index() const {
    return static_cast<std::size_t>(loops[1]) * kLoops + static_cast<std::size_t>(loops[0]);
  }
  [[nodiscard]] constexpr bool has(Loop loop) const { return loops[0] == loop || loops[1] == loop; }
  /// Whether it leaves the second axis alone.
  [[nodiscard]] constexpr bool is_single() const { return loops[1] == Loop::None; }

  friend constexpr bool operator==(LoopPair, LoopPair) = default;
  friend constexpr std::strong_ordering operator<=>(LoopPair a, LoopPair b) {
    return a.index() <=> b.index();
  }
};

}  // namespace dfsearch
