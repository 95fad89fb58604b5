#include "support/brute_force.hpp"

#include <algorithm>
#include <functional>
#include <variant>
#include <vector>

#include "model/sharding.hpp"

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

BruteForceResult brute_force(const Problem& problem) {
  const Workload& workload = problem.workload;
  Mapping mapping;
  for (const NetworkDimension& d : problem.system.network) {
    mapping.network.push_back({.degree = d.degree, .strategy = d.strategy});
  }
  mapping.sharding = least_bytes_sharding(problem);

  BruteForceResult best;
  const auto consider = [&] {
    ++best.tried;
    const auto result = evaluate(problem, mapping);
    const Cost* cost = std::get_if<Cost>(&result);
    if (cost == nullptr) return;
    ++best.feasible;
    if (cost->step_time < best.step_time ||
        (cost->step_time == best.step_time && best.mapping && precedes(mapping, *best.mapping))) {
      best.mapping = mapping;
      best.step_time = cost->step_time;
    }
  };
  const std::int64_t samples = workload.global_batch / problem.system.degree(Strategy::Data);
  for (const std::int64_t tile : range(workload.tile, workload.sequence)) {
    mapping.tile = tile;
    for (const std::int64_t micro_batch : range(workload.micro_batch, samples)) {
      if (samples % micro_batch != 0) continue;
      mapping.micro_batch = micro_batch;
      if (problem.execution.style == Style::KernelByKernel) {
        mapping.partition.resize(workload.graph.kernel_count());
        std::int64_t next = 0;
        for (const KernelId k : workload.graph.topological_order()) {
          mapping.partition[k.index()] = next++;
        }
        consider();
        continue;
      }
      for_each_assignment(workload.graph.kernel_count(), problem.partition_limit(),
                          [&](const std::vector<std::int64_t>& partition) {
                            if (!respects_order(workload.graph, partition)) return;
                            mapping.partition = partition;
                            consider();
                          });
    }
  }
  return best;
}

}  // namespace dfsearch::test
