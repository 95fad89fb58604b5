#pragma once
// The reports for people, of every kind of question (docs/results.md explains them line by line).

#include <string>

#include "engine/calculon/find_execution.hpp"
#include "engine/serving/find_deployment.hpp"
#include "engine/training/find_plan.hpp"
#include "io/report/sheet.hpp"
#include "io/result/outcome.hpp"

namespace dfsearch {

/// What is asked, a line each: the workload and the machine.  For `check`, and above a report.
Sheet asked_text(const Problem& problem);
Sheet asked_text(const training::Task& task);
Sheet asked_text(const calculon::Task& task);
Sheet asked_text(const serving::Task& task);

// Everything there is to say, as aligned text of at most 100 columns; `title` names the config.
// All end in a newline.

/// After a long search, and with details, there is a table of what its parts did.
Sheet report_text(const Outcome& outcome, const std::string& title, bool with_details = false);
Sheet report_text(const training::Task& task, const training::PlanResult& result,
                  const std::string& title);
Sheet report_text(const calculon::Task& task, const calculon::ExecutionResult& result,
                  const std::string& title);
Sheet report_text(const serving::Task& task, const serving::ServingResult& result,
                  const std::string& title);
Sheet report_text(const serving::Fleet& fleet, const serving::ServingResult& result,
                  const std::string& title);

/// Why no step fits, in a phrase; empty where nothing is known of it.
std::string reason_text(const training::Task& task, const training::PlanResult& result);
std::string reason_text(const calculon::Task& task, const calculon::ExecutionResult& result);

}  // namespace dfsearch
