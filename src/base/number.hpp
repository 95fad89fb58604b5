#pragma once
// A count in an equation of quantities.

#include <cstdint>

namespace dfsearch {

/// Exact up to 2^53, which no count of a config reaches.
[[nodiscard]] constexpr double number(std::int64_t count) noexcept {
  return static_cast<double>(count);
}

}  // namespace dfsearch
