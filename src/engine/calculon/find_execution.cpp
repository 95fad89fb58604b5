// The answers one after the other, as in engine/solve.cpp: the best execution, then the best of
// other degrees than those met.

#include "engine/calculon/find_execution.hpp"

#include <utility>
#include <variant>

#include "base/error.hpp"
#include "engine/calculon/execution_tree.hpp"
#include "engine/ranked_answers.hpp"

namespace dfsearch::calculon {
namespace {

/// The judge: the model decides what the winner costs.
Cost recost(const Task& task, const ExecutionSolution& winner) {
  auto verdict = evaluate(task.transformer, task.machine, winner.execution);
  Cost* cost = std::get_if<Cost>(&verdict);
  if (cost == nullptr || cost->step_time.in_base_units() != winner.cost.in_base_units()) {
    throw InternalError("the search and the model disagree on the cost of the execution found");
  }
  return *cost;
}

class Finder {
 public:
  Finder(const Task& task, const ExecutionSearch& search) : task_(task), search_(search) {}

  ExecutionResult run() {
    answers_.find([this] { return next(); });
    count();
    if (result_.status == SearchStatus::Infeasible) explain();
    result_.stats.time = answers_.elapsed();
    return std::move(result_);
  }

 private:
  /// The best execution of degrees not met yet.
  FoundExecution next() {
    const ExecutionTree problem(task_, excluded_, search_.limits.deadline);
    const auto found = answers_.search(problem);
    FoundExecution answer;
    answers_.judge(answer, found);
    if (found.solution) {
      const Execution& execution = found.solution->execution;
      answer.execution = execution;
      answer.cost = recost(task_, *found.solution);
      excluded_.push_back({execution.tensor, execution.pipeline, execution.data});
    }
    return answer;
  }

  void count() {
    try {
      result_.candidates = count_candidates(task_, search_.limits.deadline);
      if (search_.count) result_.feasible = count_feasible(task_, search_.limits.deadline);
    } catch (const Stopped&) {
      // Nothing is said of what was not counted.
    }
  }

  void explain() {
    try {
      result_.misfit = nearest_misfit(task_, search_.limits.deadline);
    } catch (const Stopped&) {
      // That nothing fits is proved; the reason stays unknown.
    }
  }

  const Task& task_;
  const ExecutionSearch& search_;
  std::vector<Degrees> excluded_;
  ExecutionResult result_;
  RankedAnswers<ExecutionSearch, FoundExecution, ExecutionResult> answers_{search_, result_};
};

}  // namespace

ExecutionResult find_execution(const Task& task, const ExecutionSearch& search) {
  return Finder(task, search).run();
}

}  // namespace dfsearch::calculon
