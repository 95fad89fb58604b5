#include "engine/answer/explanations.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "engine/mapping/mapping_problem.hpp"
#include "engine/tree/branch_and_bound.hpp"
#include "model/evaluate.hpp"

namespace dfsearch {
namespace {

// Node limit of the search: milliseconds for the layer of a transformer, some seconds at most.  A
// node takes longer in larger graphs (300 nodes of 42 kernels took 15 s), so these get fewer nodes:
// kNodesOfOneKernel over the fourth power of the number of kernels.
constexpr std::int64_t kNodesBeyondScope = 300;
constexpr std::int64_t kStepsBeyondScope = 1'000;
constexpr double kNodesOfOneKernel = 1e8;

std::int64_t nodes_beyond_scope(const Problem& problem) {
  const double kernels = static_cast<double>(problem.workload.graph.kernels().size());
  const double nodes = std::min(kNodesOfOneKernel / (kernels * kernels * kernels * kernels),
                                static_cast<double>(kNodesBeyondScope));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(nodes));
}

}  // namespace

BestMapping search_beyond_scope(const Problem& problem, const Mapping* known, std::int64_t nodes,
                                const Allowance& allowance) {
  Problem open = problem;
  open.sharding = ShardingChoice::Joint;
  const MappingProblem search(open, {.steps = kStepsBeyondScope}, {}, allowance);
  BranchAndBound<MappingProblem> tree(
      search, {.limits = {.deadline = allowance.deadline,
                          .nodes = std::min(nodes, nodes_beyond_scope(problem))},
               .deterministic = true,
               .memory = allowance.memory});
  if (known != nullptr) {
    if (auto solution = search.solution(*known)) tree.start_from(std::move(*solution), 'H');
  }
  const auto found = tree.run();
  allowance.deadline.check();
  BestMapping answer;
  answer.stopped_by = found.stopped_by;
  answer.lower_bound = found.lower_bound;
  const bool is_over = found.stopped_by == StopReason::None;
  if (!found.solution) {
    answer.status = is_over ? SearchStatus::Infeasible : SearchStatus::NoSolution;
    return answer;
  }
  answer.status = is_over ? SearchStatus::Optimal : SearchStatus::Feasible;
  answer.mapping = search.mapping(*found.solution);
  const auto evaluated = evaluate(open, *answer.mapping);
  const Cost* cost = std::get_if<Cost>(&evaluated);
  if (cost == nullptr || !(cost->objective == found.cost)) {
    throw InternalError("the search and the model disagree on the cost of the mapping found");
  }
  answer.mapping->cores = cost->cores;
  answer.cost = *cost;
  answer.gap = relative_gap(cost->objective, answer.lower_bound);
  return answer;
}

}  // namespace dfsearch
