#pragma once
// Bounds on an outer point that need no tables.

#include <cstddef>
#include <vector>

#include "base/deadline.hpp"
#include "base/units.hpp"
#include "graph/kernel.hpp"
#include "graph/loop_set.hpp"
#include "model/layer/core_allocation.hpp"
#include "model/layer/shard.hpp"
#include "model/machine/network_choices.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Factor that corrects a product or a positive sum of doubles for the excess of `roundings`
/// roundings.
///
/// A rounding changes a value by at most u = 2^-53 of itself.  A value x that was rounded up a
/// times is at most (1 + u)^a <= 1 / (1 - a u) of the exact one, a value y that was rounded down
/// b times at least (1 - u)^b >= 1 - b u of it.  If x is no greater than y on paper then
/// x (1 - (a + b) u) <= y in doubles, since (1 - a u)(1 - b u) >= 1 - (a + b) u.  The factor
/// itself is exact, as a + b is far below 2^53; its product is one of the a roundings.
constexpr double less_roundings(std::size_t roundings) {
  return 1.0 - static_cast<double>(roundings) * 0x1p-53;
}

/// The compute time that a tile of a kernel takes at least, for any allocation of cores.
Seconds least_compute(const Problem& problem, const Kernel& kernel, const Shard& shard);

/// Lower bound on the score of every mapping along one of the networks, known without tables,
/// shardings or tiles.  Throws Stopped.
Score least_score(const Problem& problem, const std::vector<NetworkChoice>& networks,
                  const Deadline& deadline);

/// Lower bound on the time of a layer with this network and this number of tiles, whatever its
/// fusion and whichever of the loops are chosen, as `evaluate` counts it.  `cache` belongs to the
/// machine, or is null.
Seconds least_layer_time(const Problem& problem, const NetworkChoice& network, std::int64_t tiles,
                         std::int64_t micro_batches, const LoopSets& sharding,
                         CoreOptionsCache* cache = nullptr);

}  // namespace dfsearch
