#include "design/find_split.hpp"

#include <algorithm>
#include <utility>

#include "design/design_problem.hpp"
#include "design/split_space.hpp"
#include "engine/solve.hpp"
#include "engine/tree/branch_and_bound.hpp"

namespace dfsearch {
namespace {

/// Of the searches for a best mapping inside: each has a thread and nobody listens.
SearchOptions inner_options(const SearchOptions& options) {
  SearchOptions inner;
  inner.limits.deadline = options.limits.deadline;
  inner.limits.memory = options.limits.memory;
  inner.bounds = options.bounds;
  return inner;
}

SearchStatus status_of(const BranchAndBoundResult<DesignProblem::Solution>& found) {
  const bool stopped = found.stopped_by != StopReason::None;
  if (found.solution) return stopped ? SearchStatus::Feasible : SearchStatus::Optimal;
  return stopped ? SearchStatus::NoSolution : SearchStatus::Infeasible;
}

/// The search for a mapping onto the best chip, told with what is known of all chips.
void search_best(const DesignProblem& tree, const DesignProblem::Solution& best,
                 const SearchOptions& options, DesignResult& result) {
  result.problem = *tree.machine_of(best.point);
  SearchOptions all = options;
  all.limits.nodes = Limits{}.nodes;
  if (result.stopped_by != StopReason::None) {
    // The answer is known; what is left of the time does not matter for it.
    all.limits.deadline = Deadline();
    all.next_best = false;
  }
  result.search = solve(result.problem, all);
  BestMapping& answer = result.search;
  answer.lower_bound = std::min(result.lower_bound, answer.cost->objective);
  answer.gap = relative_gap(answer.cost->objective, answer.lower_bound);
  answer.status = result.status;
  answer.stopped_by = result.stopped_by;
}

}  // namespace

DesignResult find_split(const Problem& problem, const ChipDesign& design,
                        const SearchOptions& options) {
  const SplitSpace space(design);
  const SearchOptions inner = inner_options(options);
  const DesignProblem tree(problem, design, space, inner);
  BranchAndBoundOptions outer;
  outer.limits = options.limits;
  outer.threads = options.threads;
  outer.deterministic = options.deterministic;
  BranchAndBound<DesignProblem> search(tree, outer);
  const auto found = search.run();
  DesignResult result;
  result.status = status_of(found);
  result.stopped_by = found.stopped_by;
  result.lower_bound = found.lower_bound;
  result.splits = space.count();
  result.boxes = found.stats.nodes;
  result.machines = tree.machines();
  result.problem = problem;
  result.search.status = result.status;
  result.search.stopped_by = result.stopped_by;
  result.search.lower_bound = result.lower_bound;
  if (!found.solution) return result;
  result.chip = derive(design, space.split(found.solution->point), problem.system.network);
  search_best(tree, *found.solution, options, result);
  return result;
}

}  // namespace dfsearch
