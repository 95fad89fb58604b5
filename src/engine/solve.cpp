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

// Effort to spend on ties, in nodes, and the steps of an enumeration that make
// one there: together a few seconds at most.
constexpr std::int64_t kTieNodes = 20'000;
constexpr std::int64_t kStepsPerTieNode = 100;

/// Replaces a best mapping by the first of the best in the order of ties.
///
/// The optimum is proved by now; a second, deterministic tree looks for mappings
/// that reach it, and knows of the first tree only the optimum itself.  Where
/// the ties are too many, its best after a fixed number of nodes is taken.  So
/// the answer depends on nothing but the problem either way.
void break_ties(const MappingProblem& search, const SearchOptions& options,
                BranchAndBoundResult<MappingSolution>& found) {
  Limits limits = options.limits;
  limits.gap = 0.0;
  for (limits.nodes = kTieNodes;; limits.nodes *= 2) {
    limits.time = options.limits.time - found.stats.time;
    const MappingProblem second(search, kStepsPerTieNode);
    BranchAndBound<MappingProblem> tree(second, {.limits = limits,
                                                 .threads = options.threads,
                                                 .deterministic = true,
                                                 .on_progress =
                                                     [&](Progress progress) {
                                                       if (!options.on_progress) return;
                                                       progress.time += found.stats.time;
                                                       progress.nodes += found.stats.nodes;
                                                       progress.incumbent = found.cost;
                                                       progress.lower_bound = found.cost;
                                                       options.on_progress(progress);
                                                     },
                                                 .progress_interval = options.progress_interval,
                                                 .cutoff = found.cost});
    auto first = tree.run();
    found.stats.nodes += first.stats.nodes;
    found.stats.time += first.stats.time;
    found.stats.pruned_by_bound += first.stats.pruned_by_bound;
    found.stats.pruned_by_dominance += first.stats.pruned_by_dominance;
    if (first.solution) found.solution = first.solution;
    // Nothing yet and not told to stop: it takes more nodes.
    const bool more = !first.solution && first.stopped_by == StopReason::Nodes;
    if (!more) return;
  }
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
  const MappingProblem search(problem);
  if (search.networks().empty()) {
    throw InputError(
        "network: no degrees and strategies have the number of chips as product, a data degree "
        "that divides the global batch and the parallelism allowed");
  }
  BranchAndBound<MappingProblem> tree(search, {.limits = options.limits,
                                               .threads = options.threads,
                                               .deterministic = options.deterministic,
                                               .on_progress = options.on_progress,
                                               .progress_interval = options.progress_interval,
                                               .report_incumbents = options.report_incumbents,
                                               .ties = false});
  if (options.hint) {
    if (auto hint = search.solution(*options.hint)) tree.start_from(std::move(*hint), 'H');
  }
  if (options.debug_solution) {
    if (auto known = search.solution(*options.debug_solution)) {
      tree.check_against(std::move(*known));
    }
  }
  auto found = tree.run();
  search.add_stats(found.stats);
  if (found.solution && found.lower_bound == found.cost) break_ties(search, options, found);

  SearchResult result;
  result.stopped_by = found.stopped_by;
  result.stats = found.stats;
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
