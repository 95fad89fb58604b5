#pragma once
// Parts of reports: budgets of a chip (docs/technology.md, section 5), changes that make a plan
// fit, the best parallelisms, the proof of an answer, and the sharding of kernels.

#include <string>
#include <string_view>
#include <vector>

#include "design/what_if.hpp"
#include "engine/search_result.hpp"
#include "engine/solve.hpp"
#include "engine/training/find_plan.hpp"
#include "io/report/sheet.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"
#include "model/scope.hpp"
#include "model/training/task.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// Bars of area, power and edge, a row for each part of the technology and one for the rest.  Ends
/// in a newline.
std::string budget_bars(const ChipDesign& design, const Chip& chip);

/// Table of the gains of a step or a tenth more of each budget, and the budget that binds most.
Sheet gains_text(const std::vector<BudgetGain>& gains);

/// The shares that were searched: "area core 0.6, L2 0.1; power core 0.5".
std::string split_text(const ChipDesign& design, const Chip& chip);

/// The lines `what helps`, `no help` and `not tried` of a report.
Sheet plan_remedy_lines(const training::Task& task, const training::NearestMisfit& nearest);

/// Distance of the next-best parallelism, or a table of the best ones; empty if there is no choice
/// or none was searched.
Sheet ranking_text(Objective objective, const SearchResult& result);

/// "optimal, proved for the sharding that communicates least: gap 0".
std::string optimal_text(const Scope& scope);

/// "infeasible, proved: no plan fits", or proved within the scope.
std::string nothing_fits_text(const Scope& scope, std::string_view none, std::string_view by = "");

/// The line `scope`; nothing where it is empty.
Sheet scope_line(const Scope& scope);

/// The line `scope` with the result of the search beyond it.
Sheet scope_line(const SearchResult& result, Objective objective);

/// The kernels by the loop on which they are sharded, then the kernels that communicate because of
/// that.
Sheet sharding_lines(const Problem& problem, const Mapping& mapping);

/// "ring of 8", or "switch of any degree".
std::string topology_text(Topology topology, std::optional<std::int64_t> degree);

/// The lines of a plan about other times than its own: the hint's, the interval of all constants,
/// and those with other switches of experts.
Sheet other_time_lines(const training::Task& task, const training::PlanResult& result);

}  // namespace dfsearch
