#pragma once
// Parts that reports share: the proof of an answer, lines of mappings, plans and deployments, and
// texts of derived chips.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "base/units_text.hpp"
#include "design/find_split.hpp"
#include "engine/plan/step_search.hpp"
#include "engine/search_result.hpp"
#include "engine/serving/find_deployment.hpp"
#include "engine/training/find_plan.hpp"
#include "io/report/report_words.hpp"
#include "io/report/sheet.hpp"
#include "model/framework.hpp"
#include "model/machine/machine.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"
#include "model/scope.hpp"
#include "model/serving/task.hpp"
#include "model/training/task.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// Bars of area, power and edge, a row for each part of the technology and one for the rest.  Ends
/// in a newline.
std::string budget_bars(const ChipDesign& design, const Chip& chip);

/// Table of the gains from a step or a tenth more of each budget, and the budget that binds most.
Sheet gains_text(const std::vector<BudgetGain>& gains);

/// The shares that were searched: "area core 0.6, L2 0.1; power core 0.5".
std::string split_text(const ChipDesign& design, const Chip& chip);

/// The lines `what helps`, `no help` and `not tried` of a report.
Sheet plan_remedy_lines(const training::Task& task, const training::NearestMisfit& nearest);

/// Distance to the next-best parallelism, or a table of the best ones; empty if there is only one
/// or no other was searched.
Sheet ranking_text(Objective objective, const SearchResult& result);

/// "optimal, proved for the sharding that communicates least: gap 0".
std::string optimal_text(const Scope& scope);

/// "infeasible, proved: no plan fits", or proved within the scope.
std::string nothing_fits_text(const Scope& scope, std::string_view none, std::string_view by = "");

Sheet scope_line(const Scope& scope);

Sheet scope_line(const SearchResult& result, Objective objective);

/// The kernels by the loop on which they are sharded, then the kernels that communicate as a
/// result.
Sheet sharding_lines(const Problem& problem, const Mapping& mapping);

/// "ring of 8", or "switch of any degree".
std::string topology_text(Topology topology, std::optional<std::int64_t> degree);

/// Lines of a plan about other times: that of the hint, the interval by all constants, and times
/// with other switches of experts.
Sheet other_time_lines(const training::Task& task, const training::PlanResult& result);

// Lines that the reports of both searches over whole steps share.

/// Greatest gap due to ties of deployments: twice kTie for a front, and some rounding.
inline constexpr double kMostOfTies = 2.5 * serving::kTie;

struct AnswerNouns {
  std::string_view one;    ///< "a plan"
  std::string_view none;   ///< "no plan"
  std::string least;       ///< the lower bound with its unit, in "no plan takes less than"
  std::string distance{};  ///< distance of the answer from the best; empty: print the gap
};

/// The state of the proof, in a phrase.
std::string result_text(const Proof& certainty, const Scope& scope, const AnswerNouns& sought);

/// The lines `result` and `scope` of a search for steps.
/// `least` is the text of the lower bound; empty: seconds of a step.
Sheet result_line(const Proof& certainty, const Scope& scope, std::string_view one,
                  std::string_view none, const std::string& least = "");

/// The lines `step time` and, unless something else was minimised, `lower bound`; `peak` is the sum
/// over all chips, and `of` is its number format, if products have another one.
Sheet step_lines(const Proof& certainty, Seconds step_time, double utilization, FlopsPerSecond peak,
                 bool by_time = true, std::string_view of = "");

/// The lines `price` and `power` of a machine that has them.
template <class Cost>
Sheet price_lines(const Cost& cost) {
  Sheet text;
  if (cost.price > Dollars{}) {
    text += labelled("price",
                     fmt::format("{}; {}", to_text(cost.price), to_text(cost.cost_efficiency)));
  }
  if (cost.power > Watts{}) {
    text += labelled("power",
                     fmt::format("{}; {}", to_text(cost.power), to_text(cost.power_efficiency)));
  }
  return text;
}

/// The line `energy`: joules of a step and of each of its `tokens`, watts, and their shares;
/// nothing without energies.
Sheet energy_line(const std::optional<Energy>& energy, std::optional<double> tokens);

/// The line `framework`: gain of the best answer with any framework over the answer found, which
/// costs `found`; `one` is the noun of the answers, `best` the performance of the best.
Sheet framework_line(Framework framework, const BestWithoutFramework& any, Score found,
                     std::string_view one, const std::string& best);

/// "8 chips of 1 PFLOP/s, 80 GB memory at 3 TB/s", with a second memory if there is one.
std::string chips_text(const Machine& machine);

/// "static 1 %, arithmetic 50 %, memory 40 %, links 9 %".
std::string energy_shares(const Energy& energy);

/// The line `rate`: tokens per second of all chips, per chip, and per dollar if there are prices.
Sheet rate_line(double tokens, std::int64_t chips, Dollars price);

/// The line `space`: number of answers, and number of those that fit, if requested.
Sheet space_line(const StepSearchReport& end, std::string_view one);

Sheet effort_line(const StepSearchReport& end);

/// The best of other parallelisms; `degrees` makes the text of an answer's degrees.
template <class Result, class DegreesText>
Sheet top_lines(const Result& result, std::string_view one, std::string_view none,
                const DegreesText& degrees) {
  Sheet text;
  int rank = 1;
  for (const auto& found : result.alternatives) {
    ++rank;
    text += labelled(fmt::format("#{}", rank),
                     found.cost
                         ? fmt::format("{}; {}; {}", to_text(found.cost->step_time), degrees(found),
                                       name_of(found.status))
                         : fmt::format("{} before {} was found", stop_text(found.stopped_by), one));
  }
  if (result.alternatives_complete) {
    text += labelled("", fmt::format("{} with other degrees fits", none));
  }
  return text;
}

// Words and lines of the reports of deployments and fleets.

/// "12.3 ms", or "without end".
std::string time_text(double seconds);
/// "disaggregated: 2 prefill (tensor 1, batch 1) on 2 chips h100 + ...".
std::string deployment_text(const serving::Task& task, const serving::Deployment& deployment);
/// The objective of a deployment.
std::string value_text(const serving::Task& task, const serving::Figures& figures);
/// A limit in words, with its key.
std::string limit_words(const serving::Task& task, serving::Broken limit);
/// The level of the memory constants at which nothing fits, in words.
std::string constants_text(const serving::Task& task);
/// Whether some pool has guessed rates of scans.
bool has_guessed_rates(const serving::Task& task);

Sheet pool_lines(const serving::Task& task);
/// Changes of a single limit with which some deployment fits.
Sheet remedy_lines(const serving::Task& task, const serving::ServingResult& result);
/// Loss due to the framework of the config.
Sheet framework_lines(const serving::Task& task, const serving::ServingResult& result);

/// Latencies, rates, the parts of an iteration, memory, the room for caches, cost and energy.
Sheet figure_lines(const serving::Task& task, const serving::Deployment& deployment,
                   const serving::Figures& figures);
/// The kernels of an iteration, the share of the roofline that they reach, and the key of the
/// engine that determines it.
Sheet operation_tables(const serving::Task& task, const serving::Deployment& deployment,
                       const serving::Figures& figures);
/// A deployment that fits only at the low end, and its excess at the other levels.
Sheet at_low_lines(const serving::Task& task, const serving::FrontPoint& point);

// Derived chips for people, one or many side by side, and the machine of one as a config
// (docs/technology.md, section 5).

/// The parts of the chip as a table: the share of each in the budgets, the result and the limit
/// that holds it; then the budgets as bars.  Ends in a newline.
Sheet chip_table(const ChipDesign& design, const Chip& chip, const Machine& system);

/// The reason why there is no such chip: the part, the budget, and the amount missing.
std::string shortage_text(const Shortage& shortage);

/// One line for each reason why there is no such chip: the budget, and the amount missing.
Sheet shortage_lines(const Chip& chip);

/// The machine as the section `system` of a config, with its numbers written so that they
/// read back to the same, and the utilization of its cores as `execution`.
std::string system_yaml(const ChipDesign& design, const Chip& chip, const Machine& system);

/// One row of the list; its pointees must outlive it.
struct ListedChip {
  std::string name;
  const Chip* chip = nullptr;
  const Machine* system = nullptr;  ///< with the chip
};

/// A table with a row for each chip: its numbers and its limits, as letters that the last line
/// explains.  A chip that cannot be built has a row without numbers, and below the table a line for
/// each reason.  Ends in a newline.
std::string chip_list(const std::vector<ListedChip>& chips);

}  // namespace dfsearch
