// The reason why no mapping fits.
//
// Plain reasons are tried first: capacities that a sum or a single kernel exceeds are named with
// their bytes.  Interactions of several capacities are found by lifting one capacity and searching
// again.

#include "engine/answer/explanations.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "engine/answer/find_best.hpp"
#include "engine/answer/search_state.hpp"
#include "engine/tree/search_monitor.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/layer/lone_kernel.hpp"
#include "model/mapping_rules.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kExplainingNodes = 2000;

Infeasible of_bytes(Resource resource, Bytes needed, Bytes available, std::string where) {
  return {.resource = resource,
          .needed = needed.in_base_units(),
          .available = available.in_base_units(),
          .where = std::move(where)};
}

/// Searches briefly for a mapping after a capacity was lifted: the answer is only an explanation.
std::optional<Mapping> map_briefly(const Problem& problem, const Allowance& allowance) {
  const MappingProblem tree(problem, {}, {}, allowance);
  const SearchOptions options;
  SearchState state;
  SearchMonitor monitor(listening(options), state.stats);
  const BestEffort effort{.limits = {.deadline = allowance.deadline, .nodes = kExplainingNodes},
                          .memory = allowance.memory};
  const BestAnswer found = find_best(tree, options, effort, monitor, state, nullptr);
  if (!found.solution) {
    allowance.deadline.check();
    return std::nullopt;
  }
  return tree.mapping(*found.solution);
}

/// Number of partitions that the mapping needs.  `roomy` has enough partitions for every kernel of
/// either phase to be alone.
std::int64_t partitions_needed(const Problem& roomy, const Mapping& mapping) {
  const std::int64_t limit = roomy.partition_limit();
  const bool halves = has_halves(roomy);
  const std::int64_t first_backward = phase_ranges(roomy, limit).first_backward;
  std::int64_t most = 0;  // partitions of a half, or of all
  for (std::size_t k = 0; k < mapping.partition.size(); ++k) {
    const bool second = halves && roomy.workload.graph.kernels()[k].phase == Phase::Backward;
    most = std::max(most, 1 + mapping.partition[k] - (second ? first_backward : 0));
  }
  return halves ? 2 * most : most;
}

/// A kernel that overflows SRAM even if it is alone in its partition.
std::optional<Infeasible> lonely_overflow(const FusionTables& tables) {
  for (std::size_t p = 0; p < tables.size(); ++p) {
    const KernelCosts& kernel = tables.kernel(p);
    if (!kernel.lonely || kernel.escapes) continue;
    const DataflowGraph& graph = tables.problem().workload.graph;
    const LoneKernel lone = lone_kernel(tables.problem(), tables.costs(), tables.id(p));
    return of_bytes(Resource::Sram, lone.least(), tables.sram(), graph.kernel(tables.id(p)).name);
  }
  return std::nullopt;
}

/// The point that needs least memory per chip: the network with the fewest replicas, the second
/// tier of memory if it may be used, and the smallest tile.
OuterPoint roomiest_point(const Problem& problem, const MappingProblem& search) {
  const std::vector<NetworkChoice>& networks = search.networks();
  const auto network = std::min_element(
      networks.begin(), networks.end(), [](const NetworkChoice& a, const NetworkChoice& b) {
        return degree_of(a, Strategy::Data) < degree_of(b, Strategy::Data);
      });
  const std::vector<OuterPoint> points =
      outer_points(problem, static_cast<std::size_t>(network - networks.begin()));
  return *std::min_element(points.begin(), points.end(),
                           [](const OuterPoint& a, const OuterPoint& b) {
                             if (a.spilled != b.spilled) return a.spilled;
                             return a.tile < b.tile;
                           });
}

}  // namespace

InfeasibilityReason why_infeasible(const Problem& problem, const MappingProblem& search,
                                   const Allowance& allowance) {
  const std::shared_ptr<const FusionContext> context = search.open(roomiest_point(problem, search));
  const FusionTables& tables = context->tables;
  if (tables.weights() > problem.system.memory_capacity()) {
    return {of_bytes(Resource::Memory, tables.weights(), problem.system.memory_capacity(),
                     problem.workload.stored > Bytes{} ? "stored data" : "weights")};
  }
  if (auto overflow = lonely_overflow(tables)) return {*overflow};
  const Rest all = context->search.rest(context->search.root());
  const std::int64_t limit = problem.partition_limit();
  if (tables.least_partitions(all) > limit) {
    const auto kernels = static_cast<std::int64_t>(tables.size());
    if (kernels > limit * tables.cores()) {
      return {{.resource = Resource::Cores,
               .needed = static_cast<double>(kernels),
               .available = static_cast<double>(limit * tables.cores()),
               .where = "all partitions"}};
    }
    return {{.resource = Resource::Partitions,
             .needed = static_cast<double>(tables.least_partitions(all)),
             .available = static_cast<double>(limit),
             .where = "SRAM, cores and phases"}};
  }
  Problem roomy = problem;
  roomy.system.memory[0].capacity = Bytes::infinity();
  roomy.system.memory.resize(1);
  if (problem.system.memory[0].capacity < Bytes::infinity()) {
    if (const auto mapping = map_briefly(roomy, allowance)) {
      const auto evaluated = evaluate(roomy, *mapping);
      const Cost* cost = &std::get<Cost>(evaluated);
      return {.reason = of_bytes(Resource::Memory, cost->weights + cost->activations + cost->stored,
                                 problem.system.memory_capacity(),
                                 problem.workload.stored > Bytes{} ? "stored data and activations"
                                                                   : "weights and activations"),
              .needed_is_of_one_mapping = true};
    }
  }
  // More memory alone does not help, so another resource is missing, too.
  const auto enough = static_cast<std::int64_t>(2 * tables.size());
  if (problem.execution.style == Style::Dataflow && limit < enough) {
    roomy.execution.partitions = enough;
    const auto mapping = map_briefly(roomy, allowance);
    const std::int64_t needed = mapping ? partitions_needed(roomy, *mapping) : 0;
    if (needed > limit) {
      return {{.resource = Resource::Partitions,
               .needed = static_cast<double>(needed),
               .available = static_cast<double>(limit),
               .where = "SRAM, phases and order of the kernels"}};
    }
  }
  return {{.resource = Resource::Pin, .needed = 0, .available = 0, .where = "pinned partitions"}};
}

}  // namespace dfsearch
