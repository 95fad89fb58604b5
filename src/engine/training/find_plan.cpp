#include "engine/training/find_plan.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "engine/training/count_plans.hpp"
#include "engine/training/given_plan.hpp"
#include "engine/training/nearest_misfit.hpp"
#include "engine/training/plan_rules.hpp"
#include "engine/training/plan_scope.hpp"
#include "engine/training/plan_space.hpp"
#include "engine/training/robust_plan.hpp"
#include "model/training/layout_shelf.hpp"

namespace dfsearch::training {
namespace {

/// The step with other times for the classes of work; memory stays as it is.
Seconds step_with(Task task, const Blocks& blocks, const Plan& plan, stack::Scenario scenario) {
  task.stack->scenario = scenario;
  const auto verdict = evaluate(task, blocks, plan);
  const Cost* cost = std::get_if<Cost>(&verdict);
  if (cost == nullptr) throw InternalError("a plan fits into memory or not by its times");
  return cost->step_time;
}

/// Searched from the plan that was found.
AnyFramework step_of_any(Task task, const StepSearch& search, const PlanResult& known) {
  task.framework.reset();
  const PlanSpace space(task);
  LayoutShelf shelf(task, space.blocks());
  const PlanRules rules(space, shelf);
  StepSearch free{.limits = search.limits,
                  .threads = search.threads,
                  .deterministic = search.deterministic,
                  .hint = decisions_of(*known.plan)};
  free.limits.nodes -= std::min(free.limits.nodes, known.stats.nodes);
  const StepAnswer best = find_steps(rules, free).list.front();
  const Score found(known.cost->step_time.in_base_units());
  const Score least = std::min(best.cost, found);
  return {.best = least, .lower_bound = best.lower_bound, .gain = found / least - 1.0};
}

}  // namespace

PlanResult find_plan(const Task& task, const StepSearch& search) {
  const PlanSpace space(task);
  LayoutShelf shelf(task, space.blocks());
  const PlanRules rules(space, shelf);
  PlanResult result;
  put_answers<FoundPlan>(
      find_steps(rules, search), result, [&](const StepAnswer& answer, FoundPlan& found) {
        // The judge: the model decides what the winner costs.
        found.plan = plan_of(*answer.decisions, task);
        found.fusions = rules.times().fusions(*found.plan, Deadline());
        auto verdict = evaluate(task, space.blocks(), *found.plan, found.fusions);
        const Cost* cost = std::get_if<Cost>(&verdict);
        if (!ruled_out(task, *found.plan).empty()) {
          throw InternalError("the plan found is none of those to choose from");
        }
        if (cost == nullptr || cost->step_time.in_base_units() != answer.cost.in_base_units()) {
          throw InternalError("the search and the model disagree on the cost of the plan found");
        }
        found.cost = *cost;
      });
  result.scope = scope_of(space);
  if (search.hint) {
    const auto cost = rules.cost(*search.hint);
    result.hint = cost ? Seconds(cost->in_base_units()) : Seconds::infinity();
  }
  if (result.plan && task.stack) {
    result.interval = StepInterval{
        .low = step_with(task, space.blocks(), *result.plan, stack::Scenario::low()),
        .high = step_with(task, space.blocks(), *result.plan, stack::Scenario::high())};
  }
  if (result.plan && task.framework && search.any_framework) {
    result.any_framework = step_of_any(task, search, result);
  }
  if (result.plan && search.robust) result.robust = find_robust_plan(task, search, result);
  result.fusions_searched = rules.times().searched();
  const Deadline& deadline = search.limits.deadline;
  try {
    result.candidates = count_candidates(space, shelf, deadline);
    if (search.count) result.feasible = count_feasible(space, rules, shelf, deadline);
  } catch (const Stopped&) {
    // Nothing is said of what was not counted.
  }
  if (result.status == SearchStatus::Infeasible) {
    try {
      result.misfit = nearest_misfit(space, shelf, deadline);
      if (!result.misfit) result.no_plan = why_no_plan(task, deadline);
    } catch (const Stopped&) {
      // That nothing fits is proved; the reason stays unknown.
    }
  }
  return result;
}

}  // namespace dfsearch::training
