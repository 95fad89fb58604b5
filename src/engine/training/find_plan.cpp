// The answers one after the other, as in engine/solve.cpp: the best plan, then the best of other
// degrees than those met.

#include "engine/training/find_plan.hpp"

#include <chrono>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "base/memory_budget.hpp"
#include "engine/training/nearest_misfit.hpp"
#include "engine/training/plan_space.hpp"
#include "engine/training/plan_tree.hpp"
#include "engine/tree/branch_and_bound.hpp"
#include "model/training/layout_shelf.hpp"

namespace dfsearch::training {
namespace {

SearchStatus status_of(const FoundPlan& found, double gap) {
  if (found.plan) return found.gap <= gap ? SearchStatus::Optimal : SearchStatus::Feasible;
  return found.stopped_by == StopReason::None ? SearchStatus::Infeasible : SearchStatus::NoSolution;
}

class Finder {
 public:
  Finder(const Task& task, const PlanSearch& search)
      : task_(task),
        search_(search),
        space_(task),
        shelf_(task, space_.blocks()),
        memory_(search.limits.memory) {}

  PlanResult run() {
    static_cast<FoundPlan&>(result_) = next();
    bool searched_all = result_.status == SearchStatus::Optimal;
    while (searched_all && static_cast<std::int64_t>(excluded_.size()) < search_.top) {
      const FoundPlan found = next();
      searched_all = found.status == SearchStatus::Optimal;
      if (found.status == SearchStatus::Infeasible) {
        result_.alternatives_complete = true;
      } else {
        result_.alternatives.push_back(found);
      }
    }
    if (result_.status == SearchStatus::Infeasible) explain();
    result_.stats.time = elapsed();
    return std::move(result_);
  }

 private:
  [[nodiscard]] Seconds elapsed() const {
    return Seconds(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
  }

  /// The best plan of degrees not met yet.
  FoundPlan next() {
    const PlanTree problem(space_, shelf_, excluded_, search_.limits.deadline);
    Limits limits = search_.limits;
    limits.nodes -= result_.stats.nodes;
    BranchAndBound<PlanTree> tree(problem, {.limits = limits,
                                            .threads = search_.threads,
                                            .deterministic = search_.deterministic,
                                            .memory = &memory_});
    const int rank = static_cast<int>(excluded_.size()) + 1;
    if (search_.on_incumbent) {
      tree.on_incumbent([&](Progress progress, const PlanSolution&) {
        progress.rank = rank;
        search_.on_incumbent(progress);
      });
    }
    const auto found = tree.run();
    result_.measured += problem.measured();
    result_.evaluated += problem.evaluated();
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

  FoundPlan answer(const BranchAndBoundResult<PlanSolution>& found) {
    FoundPlan answer;
    answer.stopped_by = found.stopped_by;
    answer.lower_bound = found.lower_bound;
    if (found.solution) {
      answer.plan = found.solution->plan;
      answer.cost = recost(*found.solution);
      answer.gap = relative_gap(found.cost, found.lower_bound);
      excluded_.push_back(found.solution->plan.degrees);
    }
    answer.status = status_of(answer, search_.limits.gap);
    return answer;
  }

  /// The judge: the model decides what the winner costs.
  [[nodiscard]] Cost recost(const PlanSolution& winner) const {
    auto verdict = evaluate(task_, space_.blocks(), winner.plan);
    Cost* cost = std::get_if<Cost>(&verdict);
    if (cost == nullptr || cost->step_time.in_base_units() != winner.cost.in_base_units()) {
      throw InternalError("the search and the model disagree on the cost of the plan found");
    }
    return *cost;
  }

  void explain() {
    try {
      result_.misfit = nearest_misfit(space_, shelf_, search_.limits.deadline);
    } catch (const Stopped&) {
      // That nothing fits is proved; the reason stays unknown.
    }
  }

  const Task& task_;
  const PlanSearch& search_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const PlanSpace space_;
  LayoutShelf shelf_;
  MemoryBudget memory_;
  std::vector<Degrees> excluded_;
  PlanResult result_;
};

}  // namespace

PlanResult find_plan(const Task& task, const PlanSearch& search) {
  return Finder(task, search).run();
}

}  // namespace dfsearch::training
