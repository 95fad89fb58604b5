#pragma once
// What a config says of the search itself.

#include <optional>

#include "base/units.hpp"

namespace dfsearch {

/// Below it a search could not begin: 16 MiB.
inline constexpr Bytes kLeastMemoryLimit{16777216.0};

/// The command line overrides it.
struct SearchSettings {
  double gap = 0.0;
  Seconds time_limit = Seconds::infinity();
  std::optional<Bytes> memory_limit = std::nullopt;
};

}  // namespace dfsearch
