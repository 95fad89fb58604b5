#include "engine/calculon/find_execution.hpp"

#include <utility>
#include <variant>

#include "base/error.hpp"
#include "engine/calculon/execution_rules.hpp"
#include "engine/calculon/given_execution.hpp"

namespace dfsearch::calculon {
namespace {

void count(const Task& task, const StepSearch& search, ExecutionResult& result) {
  try {
    result.candidates = count_candidates(task, search.limits.deadline);
    if (search.count) result.feasible = count_feasible(task, search.limits.deadline);
  } catch (const Stopped&) {
    // Nothing is said of what was not counted.
  }
}

void explain(const Task& task, const StepSearch& search, ExecutionResult& result) {
  try {
    result.misfit = nearest_misfit(task, search.limits.deadline);
  } catch (const Stopped&) {
    // That nothing fits is proved; the reason stays unknown.
  }
}

}  // namespace

ExecutionResult find_execution(const Task& task, const StepSearch& search) {
  ExecutionResult result;
  put_answers<FoundExecution>(
      find_steps(ExecutionRules(task), search), result,
      [&](const StepAnswer& answer, FoundExecution& found) {
        // The judge: the model decides what the winner costs.
        found.execution = execution_of(*answer.decisions);
        auto verdict = evaluate(task.transformer, task.machine, *found.execution);
        const Cost* cost = std::get_if<Cost>(&verdict);
        if (!ruled_out(task, *found.execution).empty()) {
          throw InternalError("the execution found is none of those to choose from");
        }
        if (cost == nullptr || cost->step_time.in_base_units() != answer.cost.in_base_units()) {
          throw InternalError(
              "the search and the model disagree on the cost of the execution found");
        }
        found.cost = *cost;
      });
  count(task, search, result);
  if (result.status == SearchStatus::Infeasible) explain(task, search, result);
  return result;
}

}  // namespace dfsearch::calculon
