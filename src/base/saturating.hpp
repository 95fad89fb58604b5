#pragma once
// Sums and products of counts that come from input and may be as large as it likes.

#include <cstdint>
#include <limits>

namespace dfsearch {

/// a + b, or the greatest number there is where that is more.  Neither is negative.
constexpr std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
  return a > greatest - b ? greatest : a + b;
}

/// a * b, likewise.
constexpr std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max()
                                                : product;
}

}  // namespace dfsearch
