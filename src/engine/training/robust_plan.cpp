// One search for each scenario, started from the plans that are best in the others, then one for
// the least regret.  Where a scenario has no proof its best known step takes the place of the least
// one: ratios to it are no more than the true ones, so the bound of the last search holds, and how
// much the plan found may lose follows from the lower bounds of the scenarios.

#include "engine/training/robust_plan.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "engine/training/robust_rules.hpp"

namespace dfsearch::training {
namespace {

Seconds seconds(Score score) { return Seconds(score.in_base_units()); }

}  // namespace

const RobustPlan::Outcome& RobustPlan::worst_of_typical() const {
  return *std::max_element(outcomes.begin(), outcomes.end(),
                           [](const Outcome& a, const Outcome& b) {
                             return a.typical_best / a.best < b.typical_best / b.best;
                           });
}

RobustPlan find_robust_plan(const Task& task, const StepSearch& search, const PlanResult& typical) {
  if (!task.stack) throw InternalError("a plan of least regret needs a stack");
  RobustPlan result;
  StepSearch one{
      .limits = search.limits, .threads = search.threads, .deterministic = search.deterministic};
  one.limits.nodes -= std::min(one.limits.nodes, typical.stats.nodes);
  const auto find = [&](const StepRules& rules) {
    const StepAnswers answers = find_steps(rules, one);
    result.nodes += answers.stats.nodes;
    one.limits.nodes -= std::min(one.limits.nodes, answers.stats.nodes);
    return answers.list.front();
  };

  std::vector<std::unique_ptr<ScenarioPlans>> plans;
  std::vector<Decisions> known{decisions_of(*typical.plan)};
  std::vector<Score> least;
  for (const NamedScenario& scenario : scenarios()) {
    plans.push_back(std::make_unique<ScenarioPlans>(task, scenario.times));
    const PlanRules& rules = plans.back()->rules;
    result.outcomes.push_back({.scenario = scenario.name});
    if (plans.size() == 1) {
      least.push_back(typical.lower_bound);
      continue;
    }
    one.hint = *std::min_element(
        known.begin(), known.end(),
        [&](const Decisions& a, const Decisions& b) { return *rules.cost(a) < *rules.cost(b); });
    const StepAnswer best = find(rules);
    least.push_back(best.lower_bound);
    if (std::find(known.begin(), known.end(), *best.decisions) == known.end()) {
      known.push_back(*best.decisions);
    }
  }
  for (const Decisions& decisions : known) {
    for (const auto& plan : plans) plan->best = std::min(plan->best, *plan->rules.cost(decisions));
  }

  const RobustRules rules(plans);
  one.hint = *std::min_element(
      known.begin(), known.end(),
      [&](const Decisions& a, const Decisions& b) { return *rules.cost(a) < *rules.cost(b); });
  const StepAnswer answer = find(rules);
  if (rules.cost(*answer.decisions) != answer.cost) {
    throw InternalError("the search and the model disagree on the regret of the plan found");
  }
  double most = 0.0;
  for (std::size_t s = 0; s < plans.size(); ++s) {
    RobustPlan::Outcome& outcome = result.outcomes[s];
    const Score step = *plans[s]->rules.cost(*answer.decisions);
    outcome.best = seconds(std::min(plans[s]->best, step));
    outcome.least = seconds(std::min(least[s], plans[s]->best));
    outcome.robust = seconds(step);
    outcome.typical_best = seconds(*plans[s]->rules.cost(known.front()));
    most = std::max(most, outcome.robust / outcome.least);
  }
  result.plan = plan_of(*answer.decisions, task);
  result.cost = std::get<Cost>(evaluate(task, plans.front()->space.blocks(), *result.plan));
  result.stopped_by = answer.stopped_by;
  result.regret = most - 1.0;
  result.lower_bound = std::min(std::max(answer.lower_bound, Score(1.0)), Score(most));
  const bool is_known = most < std::numeric_limits<double>::infinity();
  result.gap = is_known ? relative_gap(Score(most), result.lower_bound) : 1.0;
  result.status = result.gap <= search.limits.gap ? SearchStatus::Optimal : SearchStatus::Feasible;
  return result;
}

}  // namespace dfsearch::training
