#pragma once
// The decisions outside the layer, as a list of points.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/machine/network_choices.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// One choice of the decisions outside the layer.
struct OuterPoint {
  std::size_t network = 0;  ///< index into network_choices
  std::int64_t tile = 1;
  std::int64_t micro_batch = 1;
  bool spilled = false;  ///< more is in memory than its first tier holds

  friend auto operator<=>(const OuterPoint&, const OuterPoint&) = default;
};

/// The points of one network, in the order of ties: larger tiles first, then
/// smaller micro-batches.  Of tiles that make the same number of tiles only the largest is
/// a point; the others cost the same.  With a second tier of memory each comes once for
/// mappings that do without it and once for those that need it.
std::vector<OuterPoint> outer_points(const Problem& problem, std::size_t network = 0);

}  // namespace dfsearch
