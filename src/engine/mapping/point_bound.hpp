#pragma once
// The decisions outside the layer as a list of points, and bounds on a point that need no tables
// and hold for any fusion: for all its shardings, and for a sharding decided in part.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "base/units.hpp"
#include "graph/kernel.hpp"
#include "graph/loop_set.hpp"
#include "model/layer/core_allocation.hpp"
#include "model/layer/layer_costs.hpp"
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

struct JointBound {
  Seconds time{};
  std::vector<LoopPair> sharding;  ///< its loops, for the last weights that were tried
};

/// The time that a layer takes at least with one of the loops left of each kernel, as `evaluate`
/// counts it: total compute and network time of each phase, for shardings that make both small
/// together (docs/search.md, section 9).  A bound that `is_enough` is not improved.  Nothing where
/// the tensors entangle too many kernels.  Throws Stopped.
std::optional<JointBound> least_joint_time(const Problem& problem, const LayerDecisions& decisions,
                                           std::int64_t micro_batches, CoreOptionsCache& cache,
                                           const Deadline& deadline,
                                           const std::function<bool(Seconds)>& is_enough);

/// One choice of the decisions outside the layer.
struct OuterPoint {
  std::size_t network = 0;  ///< index into network_choices
  std::int64_t tile = 1;
  std::int64_t micro_batch = 1;
  bool spilled = false;  ///< more is stored than the first tier of memory holds

  friend auto operator<=>(const OuterPoint&, const OuterPoint&) = default;
};

/// The points of one network, in the order of ties: larger tiles first, then smaller micro-batches.
/// Of tile sizes that make the same number of tiles only the largest is a point; the others cost
/// the same.  With a second tier of memory there are two points of each, one for mappings that need
/// it and one for all others.
std::vector<OuterPoint> outer_points(const Problem& problem, std::size_t network = 0);

}  // namespace dfsearch
