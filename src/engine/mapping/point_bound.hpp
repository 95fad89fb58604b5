#pragma once
// The decisions outside the layer as a list of points.  Lower bounds on a point that need no tables
// and hold for any fusion: one for all its shardings, one for a sharding decided in part.

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
/// A rounding changes a value by at most u = 2^-53 of itself.  If x was rounded up `a` times, it is
/// at most (1 + u)^a <= 1 / (1 - a u) times its exact value.  If y was rounded down `b` times, it
/// is at least (1 - u)^b >= 1 - b u times its exact value.  If the exact x is no greater than the
/// exact y, then x (1 - (a + b) u) <= y in doubles, since (1 - a u)(1 - b u) >= 1 - (a + b) u.  The
/// factor itself is exact, as a + b is far below 2^53; the product with it is one of the `a`
/// roundings.
constexpr double less_roundings(std::size_t roundings) {
  return 1.0 - static_cast<double>(roundings) * 0x1p-53;
}

/// Lower bound on the compute time of a tile of a kernel, for any allocation of cores.
Seconds least_compute(const Problem& problem, const Kernel& kernel, const Shard& shard);

/// Lower bound on the score of every mapping along any of the networks.  It needs no tables,
/// shardings or tiles.  Throws Stopped.
Score least_score(const Problem& problem, const std::vector<NetworkChoice>& networks,
                  const Deadline& deadline);

/// Lower bound on the time of a layer, as `evaluate` counts it, with this network and number of
/// tiles, for any fusion and any loops in `sharding`.  `cache` belongs to the machine, or is null.
Seconds least_layer_time(const Problem& problem, const NetworkChoice& network, std::int64_t tiles,
                         std::int64_t micro_batches, const LoopSets& sharding,
                         CoreOptionsCache* cache = nullptr);

struct JointBound {
  Seconds time{};
  std::vector<LoopPair> sharding;  ///< the best loops for the last weights tried
};

/// Lower bound on the time of a layer, as `evaluate` counts it, for any choice among the loops left
/// of each kernel.  It is a weighted mean of total compute and network time of each phase, which is
/// least for shardings that make both small (docs/search.md, section 9).  The bound is improved
/// until `is_enough` is true of it.  Returns nothing if tensors connect too many undecided kernels.
/// Throws Stopped.
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
/// If several tile sizes make the same number of tiles, only the largest is used; the others cost
/// the same.  With a second tier of memory each choice has two points: one for mappings that need
/// the tier, and one for all others.
std::vector<OuterPoint> outer_points(const Problem& problem, std::size_t network = 0);

}  // namespace dfsearch
