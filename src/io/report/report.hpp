#pragma once
// The reports for people, for all kinds of configs (docs/results.md explains them line by line).

#include <span>
#include <string>
#include <vector>

#include "engine/calculon/find_execution.hpp"
#include "engine/search_result.hpp"
#include "engine/serving/find_deployment.hpp"
#include "engine/training/find_plan.hpp"
#include "io/config/shelf.hpp"
#include "io/report/sheet.hpp"
#include "io/result/outcome.hpp"
#include "model/evaluate.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Lines on the workload and the machine, for `check` and at the top of reports.
Sheet asked_text(const Problem& problem);
Sheet asked_text(const training::Task& task);
Sheet asked_text(const calculon::Task& task);
Sheet asked_text(const serving::Task& task);

// The whole report; `title` has the name of the config.

/// After a long search, and with details, the report ends with a table of the parts of the search.
Sheet report_text(const Outcome& outcome, const std::string& title, bool with_details = false);
Sheet report_text(const training::Task& task, const training::PlanResult& result,
                  const std::string& title);
Sheet report_text(const calculon::Task& task, const calculon::ExecutionResult& result,
                  const std::string& title);
/// The report of a deployment; with details it has the kernels of iterations.
Sheet report_text(const serving::Task& task, const serving::ServingResult& result,
                  const std::string& title, bool with_details = false);
Sheet report_text(const serving::Fleet& fleet, const serving::ServingResult& result,
                  const std::string& title);

/// The reason why no step fits, as a phrase; empty if it is not known.
std::string reason_text(const training::Task& task, const training::PlanResult& result);
std::string reason_text(const calculon::Task& task, const calculon::ExecutionResult& result);

/// The reason why no mapping, or this mapping, fits: one or two sentences.
std::string infeasible_text(const Problem& problem, const Infeasible& reason);

/// Changes, any of which would make a mapping fit; empty for none.
std::string changes_text(const Problem& problem, const std::vector<FeasibleChange>& changes);

/// The shortages of the parts of the chip; empty if there is a chip.
const std::vector<Shortage>& shortages_of(const Outcome& outcome);

/// The reason why no chip can be built from the budgets, or none on which a mapping fits, in a
/// sentence or two; empty if they are not the reason.
std::string budget_reason(const Outcome& outcome);

/// The files of the shelf, with a block for each kind (systems, workloads or studies): a header,
/// then for each file a line with its name, main figures and description, in columns.  Ends in a
/// newline.
std::string shelf_list(std::span<const ShelfKind> kinds);

}  // namespace dfsearch
