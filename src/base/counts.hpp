#pragma once
// Arithmetic of counts: conversion to double, sums and products that saturate, divisors.

#include <cstdint>
#include <limits>
#include <vector>

namespace dfsearch {

/// A count as a factor of an equation.  Exact up to 2^53, which no count of a config reaches.
[[nodiscard]] constexpr double number(std::int64_t count) noexcept {
  return static_cast<double>(count);
}

/// a + b, or the greatest integer if that is more.  Neither is negative.
constexpr std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
  return a > greatest - b ? greatest : a + b;
}

/// a * b, or the greatest integer if that is more.  Neither is negative.
constexpr std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max()
                                                : product;
}

/// The divisors in ascending order, in time proportional to the square root of the number, which is
/// at least 1.
inline std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> small;
  std::vector<std::int64_t> large;
  for (std::int64_t d = 1; d <= number / d; ++d) {
    if (number % d != 0) continue;
    small.push_back(d);
    if (d != number / d) large.push_back(number / d);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

}  // namespace dfsearch
