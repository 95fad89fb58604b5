#pragma once
// Completions of a sharding that is decided in part: a good one for a given fusion, and the best
// one if every kernel has a partition of its own.

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
  /// Cost of the sharding with the given fusion; none if it does not fit.
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

/// The least time of the layer over all shardings of `decisions`, with every kernel in a partition
/// of its own.  At least one kernel is undecided.  Nothing if tensors connect too many undecided
/// kernels or if `charges_pieces` is true of the problem.  `cache` belongs to the machine.  Throws
/// Stopped.
std::optional<BestLoneSharding> best_lone_sharding(const Problem& problem,
                                                   const LayerDecisions& decisions,
                                                   CoreOptionsCache& cache,
                                                   const Deadline& deadline);

}  // namespace dfsearch
