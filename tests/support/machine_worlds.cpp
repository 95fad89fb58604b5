#include "support/machine_worlds.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "graph/workloads/generators.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/layer/sharding.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch::test {
namespace {

using Random = std::mt19937_64;

Bytes some_bytes(Random& random, std::int64_t most) {
  return Bytes(static_cast<double>(pick(random, 0, most)));
}

DataflowGraph random_dlrm(Random& random, bool training) {
  // Two MLPs make six kernels, and brute force tries all their partitions.
  const std::int64_t most = training ? 2 : 6;
  DlrmShape shape;
  shape.bottom = pick(random, 1, most);
  shape.top = pick(random, 0, most - shape.bottom);
  shape.mlp = pick(random, 1, 9);
  shape.local_batch = pick(random, 1, 6);
  shape.all_to_all = some_bytes(random, 300);
  shape.memory = some_bytes(random, 300);
  return training ? dlrm_training_graph(shape) : dlrm_inference_graph(shape);
}

/// Some neighbouring kernels of a decode layer: the whole of it has too many
/// partitions to try.
DataflowGraph random_decode(Random& random, std::size_t most) {
  const std::int64_t heads = pick(random, 1, 3);
  const std::int64_t head_dim = pick(random, 1, 4);
  const LlmShape shape{.hidden = heads * head_dim,
                       .heads = heads,
                       .head_dim = head_dim,
                       .sequence = pick(random, 1, 9),
                       .mlp = pick(random, 1, 12)};
  const DataflowGraph whole = llm_decode_graph(shape, Bytes(2.0));
  const auto count = static_cast<std::size_t>(
      pick(random, 3, static_cast<std::int64_t>(std::min<std::size_t>(most, 7))));
  const auto first = static_cast<std::size_t>(
      pick(random, 0, static_cast<std::int64_t>(whole.kernel_count() - count)));
  std::vector<Kernel> kernels(whole.kernels().begin() + static_cast<std::ptrdiff_t>(first),
                              whole.kernels().begin() + static_cast<std::ptrdiff_t>(first + count));
  std::vector<Tensor> tensors;
  for (Tensor t : whole.tensors()) {
    if (t.from.index() < first || t.to.index() >= first + count) continue;
    if (t.to.index() < first || t.from.index() >= first + count) continue;
    t.from = KernelId(t.from.index() - first);
    t.to = KernelId(t.to.index() - first);
    tensors.push_back(t);
  }
  return {std::move(kernels), std::move(tensors)};
}

/// A random graph some of whose kernels are spread over the machine or talk to it.
DataflowGraph random_mixture(Random& random, std::uint64_t seed, const WorldLimits& limits) {
  const DataflowGraph plain = random_problem(seed, limits).workload.graph;
  std::vector<Kernel> kernels = plain.kernels();
  for (Kernel& kernel : kernels) {
    if (chance(random, 25)) kernel.spread = Spread::Grid;
    if (chance(random, 15)) kernel.spread = Spread::Machine;
    if (chance(random, 25)) kernel.sharded_memory = some_bytes(random, 200);
    if (!chance(random, 40)) continue;
    const auto communication = [&] {
      return Communication{.type = static_cast<CommunicationType>(pick(random, 0, 8)),
                           .bytes = some_bytes(random, 200)};
    };
    kernel.communication = communication();
    if (chance(random, 40)) kernel.second_communication = communication();
  }
  return {std::move(kernels), plain.tensors()};
}

void random_workload(Random& random, std::uint64_t seed, const WorldLimits& limits,
                     Workload& workload) {
  const auto most = static_cast<std::int64_t>(limits.kernels);
  switch (machine_world(seed)) {
    case MachineWorld::DlrmTraining:
      workload.graph = random_dlrm(random, true);
      workload.network_use = NetworkUse::Data;
      break;
    case MachineWorld::DlrmInference:
      workload.graph = random_dlrm(random, false);
      workload.network_use = NetworkUse::Data;
      break;
    case MachineWorld::Hpl: {
      const std::int64_t block = pick(random, 1, 3);
      const std::int64_t iterations = pick(random, 1, std::min<std::int64_t>(most, 6));
      workload.graph =
          hpl_graph(block * iterations + pick(random, 0, 12), block, iterations, Bytes(2.0));
      workload.network_use = NetworkUse::Tensor;
      workload.out_of_core = true;
      break;
    }
    case MachineWorld::Fft:
      workload.graph = fft_graph(pick(random, 4, 900), pick(random, 2, 5), Bytes(2.0));
      workload.network_use = NetworkUse::Tensor;
      workload.out_of_core = true;
      break;
    case MachineWorld::Decode:
      workload.graph = random_decode(random, limits.kernels);
      workload.serving = {.decode = true, .tokens = 1, .boundary = some_bytes(random, 60)};
      break;
    case MachineWorld::Mixed:
      workload.sequence = pick(random, 1, 3);
      workload.graph = random_mixture(random, seed, limits);
      workload.out_of_core = chance(random, 20);
      break;
  }
  workload.copies = chance(random, 30) ? pick(random, 2, 3) : 1;
}

/// Room for some of what the layer needs in the first tier, for more or less of the
/// rest in the second.
void two_tiers(Random& random, Problem& problem) {
  std::vector<Mapping::Dimension> network;
  for (const NetworkDimension& d : problem.system.network) {
    network.push_back({.degree = *d.degree, .strategy = *d.strategy});
  }
  const LayerCosts costs(problem, {.network = network,
                                   .sharding = loop_sets(least_bytes_sharding(problem)),
                                   .micro_batch = 1,
                                   .tile = 1});
  const DataflowGraph& graph = problem.workload.graph;
  const StepTime step = step_time(problem, network, 1);
  Bytes need = stored_share(problem.workload, problem.chips_per_copy());
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    need += costs.stored_weight(KernelId(i)) * static_cast<double>(step.layers_per_stage);
  }
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) need += costs.stored(TensorId(t));
  const auto part = [&](std::int64_t low, std::int64_t high) {
    const double share = static_cast<double>(pick(random, low, high)) / 100.0;
    return Bytes(std::floor(need.in_base_units() * share) + 1.0);
  };
  std::vector<MemoryTier>& memory = problem.system.memory;
  memory[0].capacity = part(20, 110);
  const double slower = static_cast<double>(pick(random, 5, 100)) / 100.0;
  memory.push_back({.capacity = part(10, 120), .bandwidth = memory[0].bandwidth * slower});
}

void random_switches(Random& random, Equations& equations) {
  if (chance(random, 40)) equations.all_to_all = AllToAllTime::Bisection;
  equations.all_to_all_pairs = static_cast<PairCount>(pick(random, 0, 3));
  if (chance(random, 50)) equations.dlrm_gradient_bandwidth.reset();
}

}  // namespace

Problem random_machine_problem(std::uint64_t seed, const WorldLimits& limits) {
  Random random(seed + 1'000'003);
  Problem problem;
  Workload& workload = problem.workload;
  random_workload(random, seed, limits, workload);
  WorldLimits given = limits;
  given.free_machine = false;
  random_surroundings(random, problem, given);
  if (chance(random, 40)) workload.stored = some_bytes(random, 2000);
  for (NetworkDimension& dimension : problem.system.network) {
    if (chance(random, 40)) {
      dimension.latency = Seconds(static_cast<double>(pick(random, 1, 20)) / 8.0);
    }
  }
  random_switches(random, problem.equations);
  if (chance(random, 40)) two_tiers(random, problem);
  if (limits.free_machine) {
    for (NetworkDimension& dimension : problem.system.network) {
      if (chance(random, 70)) dimension.degree.reset();
      if (chance(random, 70)) dimension.strategy.reset();
    }
  }
  return problem;
}

}  // namespace dfsearch::test
