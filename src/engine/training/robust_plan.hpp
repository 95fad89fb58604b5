#pragma once
// The plan of least regret beside the best one.

#include "engine/training/find_plan.hpp"

namespace dfsearch::training {

/// `typical` is the result of the search with typical times, which has a plan; the limits of
/// `search` hold for both together, and no listener is called.
RobustPlan find_robust_plan(const Task& task, const StepSearch& search, const PlanResult& typical);

}  // namespace dfsearch::training
