#pragma once
// Kernel by kernel the best of the shardings left, whatever the memory holds.

#include <cstddef>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "model/layer/core_allocation.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/problem.hpp"

namespace dfsearch {

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
