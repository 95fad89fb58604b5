#pragma once
// The plan of a training step as JSON (docs/results.md).

#include <string>

#include "engine/training/find_plan.hpp"
#include "model/training/task.hpp"

namespace dfsearch {

std::string plan_json(const training::Task& task, const training::PlanResult& result);

}  // namespace dfsearch
