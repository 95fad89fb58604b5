#include "support/model_worlds.hpp"

#include <algorithm>
#include <random>
#include <stdexcept>
#include <utility>
#include <variant>

#include "model/layer/sharding.hpp"
#include "support/random_problem.hpp"

namespace dfsearch::test {
namespace {

using Random = std::mt19937_64;

Kernel kernel_of(KernelKind kind, std::string name, std::int64_t m, std::int64_t k,
                 std::int64_t n) {
  Kernel kernel;
  kernel.name = std::move(name);
  kernel.kind = kind;
  const bool product = kind == KernelKind::WeightGemm || kind == KernelKind::Gemm;
  kernel.mode = product ? Mode::Systolic : Mode::Simd;
  kernel.m = m;
  kernel.k = k;
  kernel.n = n;
  return kernel;
}

/// The partitions that kernels of the phase may be in.
std::pair<std::int64_t, std::int64_t> range_of(const Problem& problem, Phase phase,
                                               std::int64_t cut) {
  const std::int64_t limit = problem.partition_limit();
  if (!problem.workload.graph.has_backward()) return {0, limit - 1};
  const bool halves = problem.equations.phases == SplitPhases::Halves;
  if (phase == Phase::Forward) return {0, halves ? (limit - 1) / 2 : cut - 1};
  return {halves ? limit / 2 : cut, limit - 1};
}

std::vector<std::int64_t> random_partition(const Problem& problem, Random& random) {
  const DataflowGraph& graph = problem.workload.graph;
  std::vector<std::int64_t> partition(graph.kernel_count(), 0);
  if (problem.execution.style == Style::KernelByKernel) {
    std::int64_t next = 0;
    for (const KernelId k : graph.topological_order()) partition[k.index()] = next++;
    return partition;
  }
  const std::int64_t limit = problem.partition_limit();
  const std::int64_t cut = pick(random, 0, limit);
  const int stay = static_cast<int>(pick(random, 20, 90));
  for (const KernelId k : graph.topological_order()) {
    auto [lowest, highest] = range_of(problem, graph.kernel(k).phase, cut);
    for (const TensorId t : graph.inputs(k)) {
      lowest = std::max(lowest, partition[graph.tensor(t).from.index()]);
    }
    std::int64_t chosen = lowest;
    if (!chance(random, stay) && highest > lowest) chosen = pick(random, lowest, highest);
    const auto& pins = problem.execution.pins;
    if (!pins.empty() && pins[k.index()] && chance(random, 90)) chosen = *pins[k.index()];
    partition[k.index()] = std::clamp<std::int64_t>(chosen, 0, limit - 1);
  }
  return partition;
}

}  // namespace

Kernel weight_gemm(std::string name, std::int64_t m, std::int64_t k, std::int64_t n) {
  return kernel_of(KernelKind::WeightGemm, std::move(name), m, k, n);
}

Kernel gemm(std::string name, std::int64_t m, std::int64_t k, std::int64_t n) {
  return kernel_of(KernelKind::Gemm, std::move(name), m, k, n);
}

Kernel elementwise(std::string name, std::int64_t m, std::int64_t n) {
  return kernel_of(KernelKind::Elementwise, std::move(name), m, 1, n);
}

Tensor tensor(std::size_t from, std::size_t to, int operand) {
  return {.from = KernelId(from), .to = KernelId(to), .operand = operand};
}

NetworkDimension dimension(Topology topology, std::int64_t degree, double bandwidth,
                           Strategy strategy) {
  return {.topology = topology,
          .degree = degree,
          .bandwidth = BytesPerSecond(bandwidth),
          .strategy = strategy};
}

std::vector<Mapping::Dimension> network_of(const Machine& system) {
  std::vector<Mapping::Dimension> network;
  for (const NetworkDimension& d : system.network) {
    network.push_back({.degree = *d.degree, .strategy = *d.strategy});
  }
  return network;
}

Problem idle_problem(std::size_t count) {
  std::vector<Kernel> kernels;
  for (std::size_t i = 0; i < count; ++i) {
    kernels.push_back(elementwise(std::string(1, static_cast<char>('a' + i)), 1, 1));
  }
  Problem problem;
  problem.workload.graph = DataflowGraph(std::move(kernels), {});
  problem.system.accelerator = {.cores = 1000, .frequency = Hertz(1.0), .sram = Bytes(1e9)};
  problem.system.memory[0].bandwidth = BytesPerSecond(1.0);
  problem.execution.compute_utilization = 1.0;
  return problem;
}

Mapping plain_mapping(const Problem& problem) {
  Mapping mapping;
  mapping.network = network_of(problem.system);
  for (const Kernel& kernel : problem.workload.graph.kernels()) {
    mapping.sharding.push_back(shardable_loops(kernel).front());
    mapping.partition.push_back(0);
  }
  mapping.tile = problem.workload.sequence;
  return mapping;
}

Problem example() {
  Problem problem;
  Workload& workload = problem.workload;
  workload.graph =
      DataflowGraph({elementwise("A", 6, 4), weight_gemm("B", 8, 6, 4), elementwise("C", 8, 4)},
                    {tensor(0, 1), tensor(1, 2)});
  workload.word = Bytes(2.0);
  workload.layers = 3;
  workload.global_batch = 12;
  workload.sequence = 4;
  workload.boundary = Bytes(10.0);
  Machine& system = problem.system;
  system.chips = 8;
  system.accelerator = {
      .cores = 4, .lanes = 2, .stages = 2, .frequency = Hertz(10.0), .sram = Bytes(1000.0)};
  system.memory[0] = {.capacity = Bytes(1000.0), .bandwidth = BytesPerSecond(40.0)};
  system.network = {dimension(Topology::Ring, 2, 80.0),
                    dimension(Topology::Ring, 2, 5.0, Strategy::Pipeline),
                    dimension(Topology::Switch, 2, 1.0, Strategy::Data)};
  problem.execution.compute_utilization = 0.5;
  return problem;
}

Mapping example_mapping(std::vector<std::int64_t> partition) {
  return {.network = network_of(example().system),
          .micro_batch = 2,
          .tile = 2,
          .sharding = {Loop::None, Loop::K, Loop::None},
          .partition = std::move(partition),
          .cores = {}};
}

Cost cost_of(const Problem& problem, const Mapping& mapping) {
  auto result = evaluate(problem, mapping);
  if (const auto* wrong = std::get_if<Infeasible>(&result)) {
    throw std::runtime_error(std::string("the mapping does not fit: ") + name_of(wrong->resource) +
                             " of " + wrong->where);
  }
  return std::get<Cost>(std::move(result));
}

Infeasible infeasible_of(const Problem& problem, const Mapping& mapping) {
  auto result = evaluate(problem, mapping);
  if (std::holds_alternative<Cost>(result)) throw std::runtime_error("the mapping fits");
  return std::get<Infeasible>(std::move(result));
}

Mapping random_mapping(const Problem& problem, std::uint64_t seed) {
  Random random(seed);
  const Workload& workload = problem.workload;
  Mapping mapping;
  mapping.network = network_of(problem.system);
  // Small tiles are the ones that fit.
  const std::int64_t largest = chance(random, 50) ? 1 : workload.sequence;
  mapping.tile = workload.tile.value_or(pick(random, 1, largest));
  if (chance(random, 2)) ++mapping.tile;
  mapping.micro_batch = workload.micro_batch.value_or(1);
  const std::int64_t other = pick(random, 1, workload.global_batch);
  if (!workload.micro_batch && (workload.global_batch % other == 0 || chance(random, 5))) {
    mapping.micro_batch = other;
  }
  for (const Kernel& kernel : workload.graph.kernels()) {
    const LoopSet loops = shardable_pairs(problem, kernel);
    if (chance(random, 1)) {
      mapping.sharding.push_back(static_cast<Loop>(pick(random, 0, 4)));
      continue;
    }
    auto at = loops.begin();
    for (std::int64_t place = pick(random, 0, loops.size() - 1); place > 0; --place) ++at;
    mapping.sharding.push_back(*at);
  }
  mapping.partition = random_partition(problem, random);
  if (!problem.execution.compute_utilization && chance(random, 25)) {
    for (const Kernel& kernel : workload.graph.kernels()) {
      mapping.cores.push_back({.lanes = pick(random, 1, 3),
                               .stages = kernel.mode == Mode::Simd ? 1 : pick(random, 1, 2)});
    }
  }
  return mapping;
}

}  // namespace dfsearch::test
