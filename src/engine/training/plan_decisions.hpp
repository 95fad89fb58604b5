#pragma once
// A plan as a list of decisions, in the order in which they are taken and break ties: the degrees,
// the micro-batch, the rows of model/training/decisions.hpp, the layers of each stage and, for each
// dimension of the network, the degree of each role and the placement of the roles on a mesh.

#include <cstddef>

#include "engine/plan/step_rules.hpp"
#include "model/training/decisions.hpp"
#include "model/training/plan.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

// Number of decisions taken down to each level of PlanRules.
inline constexpr std::size_t kTensorDecisions = 1;
inline constexpr std::size_t kInnerDecisions = 3;
inline constexpr std::size_t kMicroBatchDecisions = kRoles.size() + 1;
inline constexpr std::size_t kLayoutDecisions = kMicroBatchDecisions + 1;
inline std::size_t shape_decisions() { return kMicroBatchDecisions + decisions().size(); }

Decisions decisions_of(const Plan& plan);
Decisions first_of(const Plan& plan, std::size_t count);
/// The plan with these decisions; decisions beyond the list keep their defaults.
Plan plan_of(const Decisions& decisions, const Task& task);

}  // namespace dfsearch::training
