#pragma once
// The best completion of a sharding that is decided in part: for a given fusion, and with every
// kernel in a partition of its own.

#include <cstddef>
#include <cstdint>
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
  std::vector<LoopPair> sharding;  ///< for each kernel one of its remaining loops
  /// Its cost with the fusion; none if it does not fit.
  std::optional<Cost> cost;
  std::size_t branch_on = 0;  ///< an undecided kernel
};

/// A good sharding among `decisions.sharding` for a fusion given as the partition of each kernel.
/// `branch_on` is the kernel whose time in this sharding exceeds its own lower bound the most.  At
/// least one kernel is undecided.  Throws Stopped.
ShardingCompletion complete_sharding(const Problem& problem, const LayerDecisions& decisions,
                                     const std::vector<std::int64_t>& partition,
                                     const Deadline& deadline = {});

struct BestLoneSharding {
  Clock clock;                     ///< the clock of the remaining shardings
  Ticks time = 0;                  ///< the least time of any sharding, in ticks of `clock`
  std::vector<LoopPair> sharding;  ///< the sharding of this time
  std::size_t branch_on = 0;       ///< an undecided kernel
};

/// The least time of the layer with every kernel in a partition of its own, over the shardings of
/// `decisions`, where some kernel has more than one left.  Nothing if the tensors entangle too many
/// kernels.  `cache` belongs to the machine.  Throws Stopped.
std::optional<BestLoneSharding> best_lone_sharding(const Problem& problem,
                                                   const LayerDecisions& decisions,
                                                   CoreOptionsCache& cache,
                                                   const Deadline& deadline);

}  // namespace dfsearch
