#pragma once
// Judgement of a given plan: whether a task leaves it to choose from.

#include "model/ruled_out.hpp"
#include "model/training/plan.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

/// The decisions that the choices or the framework of the task do not allow.
RuledOut ruled_out(const Task& task, const Plan& plan);

/// True if the search may find the plan; it leaves out more, such as schedules that are never
/// better.
bool is_searched(const Task& task, const Plan& plan);

}  // namespace dfsearch::training
