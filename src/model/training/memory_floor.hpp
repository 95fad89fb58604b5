#pragma once
// Which plans no spread of the layers can make fit, before all of their decisions are taken.

#include "model/training/block.hpp"
#include "model/training/plan.hpp"
#include "model/training/profile.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

/// False only if no plan with these degrees, micro-batch and recomputation fits; no other decision
/// of the plan is read.  True where layers may be offloaded.
/// docs/search.md, section 15
bool may_fit(const Task& task, Plan plan, const Profiles& profiles, const LayerOrder& order);

}  // namespace dfsearch::training
