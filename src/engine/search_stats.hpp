#pragma once
// What a search counts and reports while it runs.

#include <cstdint>

#include "base/units.hpp"

namespace dfsearch {

struct SearchStats {
  std::int64_t nodes = 0;                ///< expanded
  std::int64_t outer_points = 0;         ///< tile and micro-batch choices looked at
  std::int64_t outer_points_pruned = 0;  ///< of these, closed by their bound alone
  std::int64_t ideals = 0;               ///< distinct sets of finished kernels met
  std::int64_t pruned_by_bound = 0;
  std::int64_t pruned_by_dominance = 0;
  std::int64_t pruned_by_capacity = 0;
  std::int64_t incumbents = 0;
  Seconds time{};
  int threads = 1;  ///< that really worked
};

/// One line of the log.
struct Progress {
  Seconds time{};
  std::int64_t nodes = 0;
  std::int64_t open = 0;
  Seconds incumbent = Seconds::infinity();  ///< infinite: none yet
  Seconds lower_bound{};
  char found_by = ' ';  ///< how the newest incumbent came: H hint, S segments, T tree
};

}  // namespace dfsearch
