#pragma once
// A bound on a sharding decided in part, whatever the fusion.

#include <functional>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "base/units.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/problem.hpp"

namespace dfsearch {

struct JointBound {
  Seconds time{};
  std::vector<LoopPair> sharding;  ///< its loops, the last of several that weights gave
};

/// The time that a layer takes at least with one of the loops left of each kernel, as `evaluate`
/// counts it: compute and network time of the whole of each phase, for shardings that make both
/// small at once (docs/search.md, section 9).  A bound that `is_enough` is not improved.  Nothing
/// where the tensors entangle too many kernels.  Throws Stopped.
std::optional<JointBound> least_joint_time(const Problem& problem, const LayerDecisions& decisions,
                                           std::int64_t micro_batches, CoreOptionsCache& cache,
                                           const Deadline& deadline,
                                           const std::function<bool(Seconds)>& is_enough);

}  // namespace dfsearch
