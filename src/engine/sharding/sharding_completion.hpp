#pragma once

// From a sharding decided in part and a fusion to a whole mapping, and to the
// kernel on which the search should branch next.

#include <cstddef>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "engine/sharding/sharding_space.hpp"
#include "model/evaluate.hpp"
#include "model/layer/core_allocation.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/problem.hpp"

namespace dfsearch {

struct ShardingCompletion {
  std::vector<LoopPair> sharding;  ///< one of those left
  /// Its cost with the fusion; none if that does not fit.
  std::optional<Cost> cost;
  std::size_t branch_on = 0;  ///< an undecided kernel
};

/// A good sharding among `decisions.sharding` for a fusion given as the partition of
/// each kernel, and the kernel whose choice takes the most time that the bounds
/// of single kernels do not see.  Not all kernels are decided.  Throws Stopped.
ShardingCompletion complete_sharding(const Problem& problem, const LayerDecisions& decisions,
                                     const std::vector<std::int64_t>& partition,
                                     const Deadline& deadline = {});

struct BestLoneSharding {
  Clock clock;                     ///< of the shardings left
  Ticks time = 0;                  ///< no sharding takes less, counted in it
  std::vector<LoopPair> sharding;  ///< the one that takes this
  std::size_t branch_on = 0;       ///< an undecided kernel
};

/// The least time of the layer with every kernel in a partition of its own, over the shardings of
/// `decisions`, of which some kernel has more than one left.  Nothing where the tensors entangle
/// too many kernels.  `cache` is that of the machine.  Throws Stopped.
std::optional<BestLoneSharding> best_lone_sharding(const Problem& problem,
                                                   const LayerDecisions& decisions,
                                                   CoreOptionsCache& cache,
                                                   const Deadline& deadline);

}  // namespace dfsearch
