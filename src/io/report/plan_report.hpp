#pragma once
// The plan of a training step, for people.

#include <string>

#include "engine/training/find_plan.hpp"
#include "model/training/task.hpp"

namespace dfsearch {

/// What is asked: the model, the machine and the batch, a line each.
std::string task_text(const training::Task& task);

/// Why no plan fits, in a phrase; empty where nothing is known of it.
std::string reason_text(const training::Task& task, const training::PlanResult& result);

/// The whole report; `title` names the config.
std::string plan_report(const training::Task& task, const training::PlanResult& result,
                        const std::string& title);

}  // namespace dfsearch
