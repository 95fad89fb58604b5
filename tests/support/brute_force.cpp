#include "support/brute_force.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "model/layer/sharding.hpp"
#include "model/machine/network_choices.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch::test {
namespace {

/// Calls `visit` with every vector of `size` indices in 0..limit-1.
void for_each_assignment(std::size_t size, std::int64_t limit,
                         const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  std::vector<std::int64_t> indices(size, 0);
  for (;;) {
    visit(indices);
    std::size_t digit = size;
    while (digit > 0 && ++indices[digit - 1] == limit) indices[--digit] = 0;
    if (digit == 0) return;
  }
}

std::vector<std::int64_t> range(std::optional<std::int64_t> given, std::int64_t last) {
  if (given) return {*given};
  std::vector<std::int64_t> values;
  for (std::int64_t v = 1; v <= last; ++v) values.push_back(v);
  return values;
}

/// The tensors' order alone, to spare `evaluate` the bulk of the assignments.
bool respects_order(const DataflowGraph& graph, const std::vector<std::int64_t>& partition) {
  return std::all_of(graph.tensors().begin(), graph.tensors().end(), [&](const Tensor& t) {
    return partition[t.from.index()] <= partition[t.to.index()];
  });
}

}  // namespace

namespace {

/// Where a ring is matters once kernels are laid out on the whole machine.
bool place_matters(const DataflowGraph& graph) {
  for (const Kernel& kernel : graph.kernels()) {
    if (kernel.spread != Spread::Tensor) return true;
    for (const auto& own : {kernel.communication, kernel.second_communication}) {
      if (!own) continue;
      for (const auto type :
           {CommunicationType::AllToAll, CommunicationType::Transpose,
            CommunicationType::GridBroadcast, CommunicationType::GridPointToPoint}) {
        if (own->type == type) return true;
      }
    }
  }
  return false;
}

/// A link of dimension d has the price of one of the dimension before.
template <class Unit>
bool same_units(const std::vector<Unit>& units, std::size_t d) {
  return units.size() <= d || units[d] == units[d - 1];
}

/// Every network of the system's shape, without the second order of two
/// neighbouring free rings that are alike.
std::vector<NetworkChoice> all_networks(const Problem& problem) {
  const Machine& system = problem.system;
  const bool every_order = place_matters(problem.workload.graph);
  std::vector<NetworkChoice> networks{{}};
  for (std::size_t d = 0; d < system.network.size(); ++d) {
    std::vector<NetworkChoice> longer;
    for (const NetworkChoice& network : networks) {
      for (std::int64_t degree = 1; degree <= system.chips; ++degree) {
        for (const Strategy strategy : {Strategy::Tensor, Strategy::Pipeline, Strategy::Data}) {
          longer.push_back(network);
          longer.back().push_back({.degree = degree, .strategy = strategy});
        }
      }
    }
    networks = std::move(longer);
  }
  std::erase_if(networks, [&](const NetworkChoice& network) {
    if (!allows(problem, network)) return true;
    for (std::size_t d = 1; d < network.size(); ++d) {
      const NetworkDimension& x = system.network[d - 1];
      const NetworkDimension& y = system.network[d];
      const bool alike = !every_order && x.topology == Topology::Ring &&
                         y.topology == Topology::Ring && x.bandwidth == y.bandwidth &&
                         x.latency == y.latency && !x.degree && !y.degree && !x.strategy &&
                         !y.strategy && same_units(system.price.link, d) &&
                         same_units(system.power.link, d);
      if (alike && network[d] < network[d - 1]) return true;
    }
    return false;
  });
  return networks;
}

std::vector<std::vector<LoopPair>> all_shardings(const Problem& problem) {
  if (problem.sharding == ShardingChoice::LeastBytes) return {least_bytes_sharding(problem)};
  std::vector<std::vector<LoopPair>> shardings{{}};
  for (std::size_t k = 0; k < problem.workload.graph.kernel_count(); ++k) {
    std::vector<std::vector<LoopPair>> longer;
    for (const std::vector<LoopPair>& sharding : shardings) {
      for (const LoopPair loop : shardable_pairs(problem, problem.workload.graph.kernels()[k])) {
        if (!problem.sharding_pins.empty() && problem.sharding_pins[k].value_or(loop) != loop) {
          continue;
        }
        longer.push_back(sharding);
        longer.back().push_back(loop);
      }
    }
    shardings = std::move(longer);
  }
  return shardings;
}

}  // namespace

BruteForceResult brute_force(const Problem& problem) {
  const Workload& workload = problem.workload;
  Mapping mapping;

  BruteForceResult best;
  const auto consider = [&] {
    ++best.tried;
    const auto result = evaluate(problem, mapping);
    const Cost* cost = std::get_if<Cost>(&result);
    if (cost == nullptr) return;
    ++best.feasible;
    if (cost->objective < best.objective) {
      best.mapping = mapping;
      best.objective = cost->objective;
    }
  };
  const auto try_partitions = [&] {
    if (problem.execution.style == Style::KernelByKernel) {
      mapping.partition.resize(workload.graph.kernel_count());
      std::int64_t next = 0;
      for (const KernelId k : workload.graph.topological_order()) {
        mapping.partition[k.index()] = next++;
      }
      consider();
      return;
    }
    for_each_assignment(workload.graph.kernel_count(), problem.partition_limit(),
                        [&](const std::vector<std::int64_t>& partition) {
                          if (!respects_order(workload.graph, partition)) return;
                          mapping.partition = partition;
                          consider();
                        });
  };
  const std::vector<std::vector<LoopPair>> shardings = all_shardings(problem);
  for (const NetworkChoice& network : all_networks(problem)) {
    mapping.network = network;
    const std::int64_t data = degree_of(network, Strategy::Data);
    if (workload.global_batch % data != 0) continue;
    for (const std::int64_t tile : range(workload.tile, workload.sequence)) {
      mapping.tile = tile;
      for (const std::int64_t micro_batch :
           range(workload.micro_batch, workload.global_batch / data)) {
        if (workload.global_batch / data % micro_batch != 0) continue;
        mapping.micro_batch = micro_batch;
        for (const std::vector<LoopPair>& sharding : shardings) {
          mapping.sharding = sharding;
          try_partitions();
        }
      }
    }
  }
  return best;
}

}  // namespace dfsearch::test
