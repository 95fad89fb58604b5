#pragma once
// Time inside a layer, counted in whole ticks.
//
// Sums of doubles depend on their order, so two mappings that cost the same on
// paper would differ in the last bits, and no bound could prove a tie.  Every
// duration of a kernel or a tensor is therefore rounded up, once, to a whole
// number of ticks; sums and maxima of ticks are exact integers in any order.
// The tick is a power of two near 2^-50 of the time the layer takes kernel by
// kernel without overlap, so the rounding stays far below 1e-9 of the result.
// docs/model.md, section 11, has the argument.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/error.hpp"
#include "base/units.hpp"

namespace dfsearch {

using Ticks = std::int64_t;

/// Stands for "never": larger than any sum of durations, far from overflow.
inline constexpr Ticks kNever = std::numeric_limits<Ticks>::max() / 4;

/// a + b, but at most kNever; a and b are from 0 to kNever.
constexpr Ticks capped_sum(Ticks a, Ticks b) {
  DFSEARCH_ASSERT(0 <= a && a <= kNever && 0 <= b && b <= kNever);
  return std::min(kNever, a + b);
}

class Clock {
 public:
  Clock() = default;
  /// A clock for durations that add up to about `reference`, which is > 0; it represents durations
  /// up to about 2^10 times `reference`, and 2^coarser times as long with ticks of 2^coarser.
  /// docs/model.md (51)
  explicit Clock(Seconds reference, int coarser = 0)
      : exponent_(std::ilogb(reference.in_base_units()) - kReferenceBits + coarser) {
    DFSEARCH_ASSERT(reference > Seconds{});
  }

  /// The duration in ticks, rounded up; kNever if it is past the end of the clock.
  /// docs/model.md (52)
  [[nodiscard]] Ticks ticks(Seconds duration) const {
    DFSEARCH_ASSERT(duration >= Seconds{});
    const double count = std::ceil(std::ldexp(duration.in_base_units(), -exponent_));
    return count < static_cast<double>(kNever) ? static_cast<Ticks>(count) : kNever;
  }
  [[nodiscard]] Seconds seconds(Ticks ticks) const {
    return Seconds(std::ldexp(static_cast<double>(ticks), exponent_));
  }
  [[nodiscard]] int exponent() const { return exponent_; }

  friend bool operator==(const Clock&, const Clock&) = default;

 private:
  static constexpr int kReferenceBits = 50;
  int exponent_ = 0;
};

}  // namespace dfsearch
