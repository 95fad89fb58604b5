// The answers one after the other, as in engine/solve.cpp: the best execution, then the best of
// other degrees than those met.

#include "engine/calculon/find_execution.hpp"

#include <chrono>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "base/memory_budget.hpp"
#include "engine/calculon/execution_tree.hpp"
#include "engine/tree/branch_and_bound.hpp"

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

SearchStatus status_of(const FoundExecution& found, double gap) {
  if (found.execution) {
    return found.gap <= gap ? SearchStatus::Optimal : SearchStatus::Feasible;
  }
  return found.stopped_by == StopReason::None ? SearchStatus::Infeasible : SearchStatus::NoSolution;
}

class Finder {
 public:
  Finder(const Task& task, const ExecutionSearch& search)
      : task_(task), search_(search), memory_(search.limits.memory) {}

  ExecutionResult run() {
    static_cast<FoundExecution&>(result_) = next();
    bool searched_all = result_.status == SearchStatus::Optimal;
    while (searched_all && static_cast<std::int64_t>(excluded_.size()) < search_.top) {
      const FoundExecution found = next();
      searched_all = found.status == SearchStatus::Optimal;
      if (found.status == SearchStatus::Infeasible) {
        result_.alternatives_complete = true;
      } else {
        result_.alternatives.push_back(found);
      }
    }
    count();
    if (result_.status == SearchStatus::Infeasible) explain();
    result_.stats.time = elapsed();
    return std::move(result_);
  }

 private:
  [[nodiscard]] Seconds elapsed() const {
    return Seconds(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
  }

  /// The best execution of degrees not met yet.
  FoundExecution next() {
    const ExecutionTree problem(task_, excluded_, search_.limits.deadline);
    Limits limits = search_.limits;
    limits.nodes -= result_.stats.nodes;
    BranchAndBound<ExecutionTree> tree(problem, {.limits = limits,
                                                 .threads = search_.threads,
                                                 .deterministic = search_.deterministic,
                                                 .memory = &memory_});
    const int rank = static_cast<int>(excluded_.size()) + 1;
    if (search_.on_incumbent) {
      tree.on_incumbent([&](Progress progress, const ExecutionSolution&) {
        progress.rank = rank;
        search_.on_incumbent(progress);
      });
    }
    const auto found = tree.run();
    result_.evaluated += problem.evaluated();
    result_.measured += problem.measured();
    result_.stats.add_counts(found.stats);
    result_.stats.threads = found.stats.threads;
    if (excluded_.empty()) {
      result_.stats.proof_nodes = found.stats.nodes;
      result_.stats.proof_time = found.stats.time;
      result_.stats.first_incumbent = found.stats.first_incumbent;
      result_.stats.best_incumbent = found.stats.best_incumbent;
    }
    return answer(found);
  }

  FoundExecution answer(const BranchAndBoundResult<ExecutionSolution>& found) {
    FoundExecution answer;
    answer.stopped_by = found.stopped_by;
    answer.lower_bound = found.lower_bound;
    if (found.solution) {
      const Execution& execution = found.solution->execution;
      answer.execution = execution;
      answer.cost = recost(task_, *found.solution);
      answer.gap = relative_gap(found.cost, found.lower_bound);
      excluded_.push_back({execution.tensor, execution.pipeline, execution.data});
    }
    answer.status = status_of(answer, search_.limits.gap);
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
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  MemoryBudget memory_;
  std::vector<Degrees> excluded_;
  ExecutionResult result_;
};

}  // namespace

ExecutionResult find_execution(const Task& task, const ExecutionSearch& search) {
  return Finder(task, search).run();
}

}  // namespace dfsearch::calculon
