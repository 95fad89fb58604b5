#include "engine/training/find_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "engine/training/nearest_misfit.hpp"
#include "engine/training/plan_rules.hpp"
#include "engine/training/robust_rules.hpp"
#include "model/training/decisions.hpp"
#include "model/training/framework.hpp"
#include "model/training/layout_shelf.hpp"
#include "model/training/memory.hpp"

namespace dfsearch::training {
namespace {

/// The step time with all time constants of the stack at one end; memory constants are unchanged.
Seconds step_at(memory::Level end, Task task, const Blocks& blocks, const Plan& plan) {
  task.stack = task.stack->at(end);
  const auto verdict = evaluate(task, blocks, plan);
  const Cost* cost = std::get_if<Cost>(&verdict);
  if (cost == nullptr) throw InternalError("a plan fits into memory or not by its times");
  return cost->step_time * task.stack->release(task.model.experts.has_value());
}

/// Searches without the framework, starting from the plan that was found.
BestWithoutFramework step_of_any(Task task, const StepSearch& search, const PlanResult& known) {
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

/// If nothing fits, the result contains the reason only with `explains`.
PlanResult find_at_level(const Task& task, const StepSearch& search, bool explains) {
  const PlanSpace space(task);
  LayoutShelf shelf(task, space.blocks());
  const PlanRules rules(space, shelf);
  PlanResult result;
  put_answers<FoundPlan>(
      find_steps(rules, search), result, [&](const StepAnswer& answer, FoundPlan& found) {
        // The model recomputes the cost of the winner; the search must agree with it.
        found.plan = plan_of(*answer.decisions, task);
        found.fusions = rules.times().fusions(*found.plan, Deadline());
        auto verdict = evaluate(task, space.blocks(), *found.plan, found.fusions);
        const Cost* cost = std::get_if<Cost>(&verdict);
        if (!ruled_out(task, *found.plan).empty()) {
          throw InternalError("the plan found is not among the choices");
        }
        if (cost == nullptr || cost->objective != answer.cost) {
          throw InternalError("the search and the model disagree on the cost of the plan found");
        }
        found.cost = *cost;
      });
  result.scope = scope_of(space);
  result.decided = task.decide;
  if (search.hint) {
    const auto cost = rules.evaluated_cost(*search.hint);
    result.hint = cost ? cost->step_time : Seconds::infinity();
  }
  if (result.plan && task.stack) {
    result.interval =
        StepInterval{.low = step_at(memory::Level::Low, task, space.blocks(), *result.plan),
                     .high = step_at(memory::Level::High, task, space.blocks(), *result.plan)};
  }
  const bool by_time = task.objective == Objective::StepTime;
  if (result.plan && task.framework && search.any_framework && by_time) {
    result.any_framework = step_of_any(task, search, result);
  }
  if (result.plan && search.robust) result.robust = find_robust_plan(task, search, result);
  result.fusions_searched = rules.times().searched();
  const Deadline& deadline = search.limits.deadline;
  try {
    result.candidates = count_candidates(space, shelf, deadline);
    if (search.count) result.feasible = count_feasible(space, rules, shelf, deadline);
  } catch (const Stopped&) {
    // Numbers that were not counted stay unknown.
  }
  if (explains && result.status == SearchStatus::Infeasible) {
    try {
      result.misfit = nearest_misfit(space, shelf, deadline);
      if (!result.misfit) result.no_plan = why_no_plan(task, deadline);
    } catch (const Stopped&) {
      // It is proved that nothing fits; the reason stays unknown.
    }
  }
  return result;
}

/// Whether a misfit at the low ends proves that the task cannot run: its stack must be known, and
/// the recomputation must be given or include full recomputation.
bool is_proof(const Task& task, const PlanSpace& space) {
  const std::vector<Recompute> recomputes = recomputes_of(space.task());
  const auto has = [&](Recompute recompute) {
    return std::find(recomputes.begin(), recomputes.end(), recompute) != recomputes.end();
  };
  const bool is_given = !task.choices.recomputes.empty() && !has(Recompute::Unknown);
  return task.stack->is_known && (is_given || has(Recompute::Full));
}

/// Options of a second search, for a plan without proof, within the remaining limits.
StepSearch search_again(const StepSearch& search, const PlanResult& before) {
  StepSearch again{.limits = search.limits,
                   .threads = search.threads,
                   .deterministic = search.deterministic,
                   .top = search.top,
                   .count = search.count,
                   .any_framework = search.any_framework};
  again.limits.nodes -= std::min(again.limits.nodes, before.stats.nodes);
  return again;
}

void take_no_proof(PlanResult& result) {
  const auto take = [](FoundPlan& found) {
    if (found.status == SearchStatus::Optimal) found.status = SearchStatus::Feasible;
  };
  take(result);
  for (FoundPlan& other : result.alternatives) take(other);
}

/// Searches at the level of memory that the task decides by; if no plan fits at the typical level,
/// searches again at the low ends.
PlanResult find_at_levels(const Task& task, const StepSearch& search, bool explains) {
  const bool has_low_end = task.stack && task.decide == memory::Level::Typical;
  PlanResult result = find_at_level(task, search, explains && !has_low_end);
  if (!has_low_end || result.status != SearchStatus::Infeasible) return result;
  Task low = task;
  low.decide = memory::Level::Low;
  PlanResult at_low = find_at_level(low, search_again(search, result), explains);
  take_no_proof(at_low);
  if (at_low.no_plan) {  // no plan exists, whatever the memory
    at_low.decided = task.decide;
    at_low.hint = result.hint;
  }
  return at_low;
}

/// The best plan with the software options that need less memory; otherwise the misfit, which
/// proves nothing if a limit ended the search.
PlanResult with_lean_options(const Task& task, const StepSearch& search, PlanResult misfit) {
  const LeanOptions lean = lean_options(task);
  if (!lean.any()) return misfit;
  PlanResult found = find_at_levels(with(lean, task), search_again(search, misfit), false);
  if (!found.plan) {
    if (found.status == SearchStatus::Infeasible) return misfit;
    misfit.status = SearchStatus::NoSolution;
    misfit.stopped_by = found.stopped_by;
    return misfit;
  }
  take_no_proof(found);
  found.assumed = lean;
  return found;
}

/// Calls `visit` with each plan, without layers and network, until `visit` returns false.
template <class Visit>
void for_each_plan(const Task& task, const Deadline& deadline, const Visit& visit) {
  const PlanSpace space(task);
  LayoutShelf shelf(task, space.blocks());
  for (const Degrees& inner : space.inner_degrees()) {
    for (const Degrees& degrees : space.degrees(inner)) {
      for (const TensorLayout layout : space.layouts(degrees, shelf, deadline)) {
        deadline.check();
        if (space.networks(degrees, layout, deadline).empty()) continue;
        for (const std::int64_t micro_batch : space.micro_batches(degrees)) {
          for (const Plan& plan : space.shapes(degrees, micro_batch, layout)) {
            if (!visit(plan)) return;
          }
        }
      }
    }
  }
}

bool has_plans(const Task& task, const Deadline& deadline) {
  bool found = false;
  for_each_plan(task, deadline, [&](const Plan&) {
    found = true;
    return false;
  });
  return found;
}

bool open_degrees(Choices& choices) {
  const bool was_given =
      std::any_of(choices.degrees.begin(), choices.degrees.end(), [](const DegreeChoice& each) {
        return !each.values.empty() || each.least > 1 || each.most < DegreeChoice().most;
      });
  choices.degrees = {};
  return was_given;
}

/// A key that may be given, and a function that opens its choice and returns whether it was given.
using OpenPin = std::pair<std::string, bool (*)(Choices& choices)>;

std::vector<OpenPin> open_pins() {
  std::vector<OpenPin> all = {
      {"parallelism", open_degrees},
      {"the strategies of system.network", [](Choices& c) { return open_lists(c.network); }}};
  for (const Decision& decision : decisions()) {
    if (decision.open) all.emplace_back("training." + std::string(decision.pin), decision.open);
  }
  all.emplace_back("workload.micro_batch", [](Choices& c) { return open_lists(c.micro_batches); });
  all.emplace_back("training.layers", [](Choices& c) { return open_lists(c.layers); });
  return all;
}

}  // namespace

PlanResult find_plan(const Task& task, const StepSearch& search) {
  PlanResult result = find_at_levels(task, search, true);
  // Infeasible is proved only if nothing fits at the low ends of all constants.
  if (!task.stack || result.status != SearchStatus::Infeasible || result.no_plan) return result;
  if (!result.misfit) {
    result.status = SearchStatus::NoSolution;
    result.stopped_by = stop_reason(search.limits.deadline);
    return result;
  }
  if (task.decide == memory::Level::High || !is_proof(task, PlanSpace(task))) {
    result.status = SearchStatus::NoSolution;
  }
  return with_lean_options(task, search, std::move(result));
}

namespace {

void check_network(const Task& task, const Plan& plan, RuledOut& reasons) {
  const auto& pins = task.choices.network;
  for (std::size_t d = 0; d < pins.size() && d < plan.network.size(); ++d) {
    for (const Role role : kRoles) {
      if (!pins[d] || *pins[d] == role || plan.network[d][role] == 1) continue;
      add_reason(fmt::format("network.{}.strategy", d), name_of(*pins[d]), name_of(role), reasons);
    }
  }
}

}  // namespace

RuledOut ruled_out(const Task& task, const Plan& plan) {
  RuledOut reasons;
  const Choices& choices = task.choices;
  for (const Role role : kRoles) {
    const std::int64_t degree = role == Role::Data     ? plan.degrees.replicas()
                                : role == Role::Expert ? expert_ranks(plan.degrees, plan.layout)
                                                       : plan.degrees[role];
    check_choice(name_of(role), choices.degrees[static_cast<std::size_t>(role)], degree, reasons);
  }
  check_list(
      "micro_batch", choices.micro_batches, plan.micro_batch,
      [](std::int64_t samples) { return std::to_string(samples); }, reasons);
  for (const Decision& decision : decisions()) {
    if (decision.matters && !decision.matters(task, plan.degrees)) continue;
    check_list(decision.given.key, decision.allowed(choices), decision.get(plan), decision.text,
               reasons);
  }
  if (!choices.layers.empty() && choices.layers != plan.layers) {
    add_reason("layers", fmt::format("{}", choices.layers), fmt::format("{}", plan.layers),
               reasons);
  }
  check_network(task, plan, reasons);
  if (!task.framework) return reasons;
  for (const std::string_view lack : unsupported_features(*task.framework, task.facts(), plan)) {
    reasons.push_back(fmt::format("{} does not run it: {}", name_of(*task.framework), lack));
  }
  if (!can_number(*task.framework, plan.network, plan.layout)) {
    reasons.push_back(
        fmt::format("{} cannot give its ranks these places", name_of(*task.framework)));
  }
  return reasons;
}

bool is_searched(const Task& task, const Plan& plan) {
  const PlanSpace space(task);
  LayoutShelf shelf(task, space.blocks());
  return PlanRules(space, shelf).cost(decisions_of(plan)).has_value();
}

// Each scenario is searched from the best of the plans known so far, then the plan of least regret
// is searched.  In a scenario without proof the step of the best known plan replaces the least
// step.  Ratios to it are no more than the true ones, so the bound of the last search holds.  The
// lower bounds of the scenarios then limit the regret of the plan found.

namespace {

Seconds seconds(Score score) { return Seconds(score.in_base_units()); }

}  // namespace

const RobustPlan::ScenarioTimes& RobustPlan::worst_of_typical() const {
  return *std::max_element(outcomes.begin(), outcomes.end(),
                           [](const ScenarioTimes& a, const ScenarioTimes& b) {
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
  for (const NamedScenario& scenario :
       scenarios(task.stack->stack.ranges, task.model.mixed != nullptr)) {
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
    RobustPlan::ScenarioTimes& outcome = result.outcomes[s];
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

NoPlan why_no_plan(const Task& task, const Deadline& deadline) {
  NoPlan why;
  if (task.framework) {
    Task any = task;
    any.framework.reset();
    bool first = true;
    for_each_plan(any, deadline, [&](const Plan& plan) {
      std::vector<std::string_view> found =
          unsupported_features(*task.framework, task.facts(), plan);
      why.other_ranks = found.empty();
      if (first || found.size() < why.unsupported.size()) why.unsupported = std::move(found);
      first = false;
      return !why.unsupported.empty();
    });
    if (!first) return why;
  }
  for (const auto& [key, open] : open_pins()) {
    Task opened = task;
    if (open(opened.choices) && has_plans(opened, deadline)) why.pins.push_back(key);
  }
  return why;
}

}  // namespace dfsearch::training
