#pragma once
// The divisors of a whole number.

#include <cstdint>
#include <vector>

namespace dfsearch {

/// In ascending order, in as many steps as the square root of the number, which is at least 1.
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
