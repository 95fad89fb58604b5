#pragma once
// The reports for people, of every kind of question (docs/results.md explains them line by line).

#include <string>

#include "engine/calculon/find_execution.hpp"
#include "engine/serving/find_deployment.hpp"
#include "engine/training/find_plan.hpp"
#include "io/report/sheet.hpp"
#include "io/result/outcome.hpp"

namespace dfsearch {

/// Lines on the question: the workload and the machine.  For `check`, and above a report.
Sheet asked_text(const Problem& problem);
Sheet asked_text(const training::Task& task);
Sheet asked_text(const calculon::Task& task);
Sheet asked_text(const serving::Task& task);

// The whole report; `title` names the config.

/// After a long search, and with details, the report ends with a table of the parts of the search.
Sheet report_text(const Outcome& outcome, const std::string& title, bool with_details = false);
Sheet report_text(const training::Task& task, const training::PlanResult& result,
                  const std::string& title);
Sheet report_text(const calculon::Task& task, const calculon::ExecutionResult& result,
                  const std::string& title);
/// A deployment has the kernels of its iterations if details are wanted.
Sheet report_text(const serving::Task& task, const serving::ServingResult& result,
                  const std::string& title, bool with_details = false);
Sheet report_text(const serving::Fleet& fleet, const serving::ServingResult& result,
                  const std::string& title);

/// Why no step fits, in a phrase; empty where nothing is known of it.
std::string reason_text(const training::Task& task, const training::PlanResult& result);
std::string reason_text(const calculon::Task& task, const calculon::ExecutionResult& result);

}  // namespace dfsearch
