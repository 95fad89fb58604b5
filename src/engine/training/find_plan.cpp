// The answers one after the other, as in engine/solve.cpp: the best plan, then the best of other
// degrees than those met.

#include "engine/training/find_plan.hpp"

#include <utility>
#include <variant>

#include "base/error.hpp"
#include "engine/ranked_answers.hpp"
#include "engine/training/nearest_misfit.hpp"
#include "engine/training/plan_scope.hpp"
#include "engine/training/plan_space.hpp"
#include "engine/training/plan_tree.hpp"
#include "model/training/layout_shelf.hpp"

namespace dfsearch::training {
namespace {

class Finder {
 public:
  Finder(const Task& task, const PlanSearch& search)
      : task_(task), search_(search), space_(task), shelf_(task, space_.blocks()) {}

  PlanResult run() {
    result_.scope = scope_of(space_);
    answers_.find([this] { return next(); });
    if (result_.status == SearchStatus::Infeasible) explain();
    result_.stats.time = answers_.elapsed();
    return std::move(result_);
  }

 private:
  /// The best plan of degrees not met yet.
  FoundPlan next() {
    const PlanTree problem(space_, shelf_, excluded_, search_.limits.deadline);
    const auto found = answers_.search(problem);
    FoundPlan answer;
    answers_.judge(answer, found);
    if (found.solution) {
      answer.plan = found.solution->plan;
      answer.cost = recost(*found.solution);
      excluded_.push_back(found.solution->plan.degrees);
    }
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
  const PlanSpace space_;
  LayoutShelf shelf_;
  std::vector<Degrees> excluded_;
  PlanResult result_;
  RankedAnswers<PlanSearch, FoundPlan, PlanResult> answers_{search_, result_};
};

}  // namespace

PlanResult find_plan(const Task& task, const PlanSearch& search) {
  return Finder(task, search).run();
}

}  // namespace dfsearch::training
