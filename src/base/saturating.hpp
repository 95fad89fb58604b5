#pragma once
// Sums of counts that come from input and may be as large as it likes.

#include <cstdint>
#include <limits>

namespace dfsearch {

/// a + b, or the greatest number there is where that is more.  Neither is negative.
constexpr std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
  return a > greatest - b ? greatest : a + b;
}

}  // namespace dfsearch
