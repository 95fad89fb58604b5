#pragma once
// A deployment, for people.

#include <string>

#include "engine/serving/find_deployment.hpp"

namespace dfsearch {

/// What is asked: the model, the requests and the pools, a line each.
std::string task_text(const serving::Task& task);
/// The whole report of a fleet; `title` names the config.
std::string fleet_report(const serving::Fleet& fleet, const serving::ServingResult& result,
                         const std::string& title);
/// The whole report; `title` names the config.
std::string serving_report(const serving::Task& task, const serving::ServingResult& result,
                           const std::string& title);

}  // namespace dfsearch
