#include "engine/solve.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "engine/branch_and_bound.hpp"
#include "engine/infeasibility.hpp"
#include "engine/mapping_search.hpp"

namespace dfsearch {
namespace {

static_assert(SearchProblem<MappingProblem>);

void check_batch(const Problem& problem) {
  const Workload& workload = problem.workload;
  const std::int64_t divisor =
      problem.system.degree(Strategy::Data) * workload.micro_batch.value_or(1);
  if (divisor < 1 || workload.global_batch % divisor != 0) {
    throw InputError("global_batch: " + std::to_string(workload.global_batch) +
                     " is not divisible by data degree x micro_batch = " +
                     std::to_string(divisor));
  }
}

/// The judge: the plain model decides what the winner costs.
void recost(const Problem& problem, const MappingProblem& search, const MappingSolution& winner,
            SearchResult& result) {
  Mapping mapping = search.mapping(winner);
  auto evaluated = evaluate(problem, mapping);
  const Cost* cost = std::get_if<Cost>(&evaluated);
  if (cost == nullptr || cost->layer_ticks != winner.fusion.time ||
      !(cost->step_time == winner.cost)) {
    throw InternalError("the search and the model disagree on the cost of the mapping found");
  }
  mapping.cores = cost->cores;
  result.mapping = std::move(mapping);
  result.cost = *cost;
}

SearchStatus status_of(const SearchResult& result, double gap) {
  if (!result.cost) {
    return result.stopped_by == StopReason::None ? SearchStatus::Infeasible
                                                 : SearchStatus::NoSolution;
  }
  return result.gap <= gap ? SearchStatus::Optimal : SearchStatus::Feasible;
}

}  // namespace

SearchResult solve(const Problem& problem, const SearchOptions& options) {
  check_batch(problem);
  const MappingProblem search(problem);
  BranchAndBound<MappingProblem> tree(search, {.limits = options.limits,
                                               .threads = options.threads,
                                               .deterministic = options.deterministic,
                                               .on_progress = options.on_progress,
                                               .progress_interval = options.progress_interval});
  if (options.hint) {
    if (auto hint = search.solution(*options.hint)) tree.start_from(std::move(*hint), 'H');
  }
  const auto found = tree.run();

  SearchResult result;
  result.stopped_by = found.stopped_by;
  result.stats = found.stats;
  search.add_stats(result.stats);
  result.lower_bound = found.lower_bound;
  if (found.solution) {
    recost(problem, search, *found.solution, result);
    result.gap = (result.cost->step_time - result.lower_bound) / result.cost->step_time;
  }
  result.status = status_of(result, options.limits.gap);
  if (result.status == SearchStatus::Infeasible) {
    result.infeasible = why_infeasible(problem, search);
  }
  return result;
}

}  // namespace dfsearch
