#include "support/stage_worlds.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "graph/workloads/llm/transformer_graph.hpp"
#include "model/layer/sharding.hpp"
#include "model/machine/network_choices.hpp"
#include "model/step/step_time.hpp"
#include "support/plain_model.hpp"
#include "support/random_problem.hpp"

namespace dfsearch::test {
namespace {

using Random = std::mt19937_64;

/// Backward kernels get a forward one, or become forward where there is none.
DataflowGraph with_forward_kernels(Random& random, const DataflowGraph& graph) {
  std::vector<Kernel> kernels = graph.kernels();
  std::vector<std::size_t> forward;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (kernels[k].phase == Phase::Forward) forward.push_back(k);
  }
  // Mostly the way back, or a tensor may lead to a stage that it cannot reach.
  auto last = static_cast<std::int64_t>(forward.size()) - 1;
  const bool any = pick(random, 0, 3) == 0;
  for (Kernel& kernel : kernels) {
    if (kernel.phase == Phase::Forward) continue;
    if (forward.empty()) {
      kernel.phase = Phase::Forward;
      continue;
    }
    const std::int64_t chosen = pick(random, 0, last);
    if (!any) last = chosen;
    kernel.backward_of = KernelId(forward[static_cast<std::size_t>(chosen)]);
  }
  return {std::move(kernels), graph.tensors(), graph.seams()};
}

/// Adds a backward kernel for each forward one, which gets the forward kernel's inputs and the
/// gradients of its consumers.
DataflowGraph with_backward_pass(const DataflowGraph& graph) {
  std::vector<Kernel> kernels = graph.kernels();
  std::vector<Tensor> tensors = graph.tensors();
  const std::size_t count = graph.kernel_count();
  for (std::size_t k = 0; k < count; ++k) {
    kernels.push_back(kernels[k]);
    kernels.back().name += "_bwd";
    kernels.back().phase = Phase::Backward;
    kernels.back().backward_of = KernelId(k);
  }
  for (const Tensor& tensor : graph.tensors()) {
    const KernelId gradient(tensor.to.index() + count);
    tensors.push_back({.from = gradient, .to = KernelId(tensor.from.index() + count)});
    tensors.push_back({.from = tensor.from, .to = gradient});
  }
  return {std::move(kernels), std::move(tensors)};
}

NetworkDimension dimension(Random& random, Strategy strategy, std::int64_t degree) {
  NetworkDimension made;
  made.topology = static_cast<Topology>(pick(random, 0, 2));
  made.degree = degree;
  made.strategy = strategy;
  made.bandwidth = BytesPerSecond(static_cast<double>(pick(random, 2, 400)));
  if (pick(random, 0, 2) == 0) made.latency = Seconds(static_cast<double>(pick(random, 1, 5)) / 8);
  return made;
}

double indices_of(const Problem& problem, std::int64_t stages) {
  return static_cast<double>(problem.partition_limit() * stages);
}

bool skips(const Problem& problem, const Mapping& mapping) {
  const auto& tensors = problem.workload.graph.tensors();
  return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& t) {
    return problem.stage_of(mapping.partition[t.to.index()]) -
               problem.stage_of(mapping.partition[t.from.index()]) >
           1;
  });
}

}  // namespace

Problem random_stages(std::uint64_t seed) {
  Random random(seed);
  const std::int64_t sort = pick(random, 0, 3);
  const bool doubled = sort < 2;
  Problem problem = random_problem(seed, {.kernels = doubled ? 3U : 6U, .assignments = 1e6});
  Workload& workload = problem.workload;
  const DataflowGraph layer = with_forward_kernels(random, workload.graph);
  DataflowGraph all = layer;
  if (sort == 0) all = unrolled_layers(layer, 2);
  if (sort == 1 && !layer.has_backward()) all = with_backward_pass(layer);
  workload.graph = DataflowGraph(all.kernels(), all.tensors());
  workload.layers = 1;
  workload.boundary = Bytes{};
  if (!workload.tile) workload.tile = pick(random, 1, workload.sequence);
  problem.execution.stages = Stages::Graph;
  problem.execution.pins.clear();
  problem.equations.phases = SplitPhases::Separate;
  if (pick(random, 0, 3) == 0) problem.objective = Objective::Bottleneck;

  const auto kernels = static_cast<std::int64_t>(workload.graph.kernel_count());
  std::int64_t stages = pick(random, 1, std::min<std::int64_t>(4, kernels));
  const std::int64_t data = pick(random, 1, 2);
  const std::int64_t tensor = pick(random, 0, 3) == 0 ? 2 : 1;
  // Phases share no partition.
  const std::int64_t fewest = workload.graph.has_backward() ? 2 : 1;
  problem.execution.partitions = pick(random, fewest, 3);
  if (problem.execution.style == Style::KernelByKernel) stages = std::min<std::int64_t>(stages, 2);
  while (std::pow(indices_of(problem, stages), static_cast<double>(kernels)) > 50'000) {
    if (*problem.execution.partitions > fewest && problem.execution.style == Style::Dataflow) {
      --*problem.execution.partitions;
    } else if (stages > 1) {
      --stages;
    } else {
      problem.execution.style = Style::Dataflow;
    }
  }
  Machine& system = problem.system;
  system.network = {dimension(random, Strategy::Tensor, tensor),
                    dimension(random, Strategy::Pipeline, stages),
                    dimension(random, Strategy::Data, data)};
  system.chips = tensor * stages * data;
  workload.global_batch = data * pick(random, 1, 6);
  workload.micro_batch = 1;
  if (workload.global_batch % (2 * data) == 0 && pick(random, 0, 2) == 0) workload.micro_batch = 2;
  if (pick(random, 0, 2) > 0) system.accelerator.sram = 4.0 * system.accelerator.sram;
  Bytes& capacity = system.memory[0].capacity;
  if (capacity < Bytes::infinity()) {
    capacity = Bytes(
        std::floor(capacity.in_base_units() * static_cast<double>(pick(random, 20, 100)) / 100.0));
  }
  return problem;
}

BestStages best_stages(const Problem& problem) {
  Mapping mapping{.network = network_choices(problem).front(),
                  .micro_batch = *problem.workload.micro_batch,
                  .tile = *problem.workload.tile,
                  .sharding = least_bytes_sharding(problem),
                  .partition = {},
                  .cores = {}};
  const std::int64_t stages = degree_of(mapping.network, Strategy::Pipeline);
  const std::int64_t indices = problem.partition_limit() * stages;
  mapping.partition.assign(problem.workload.graph.kernel_count(), 0);
  BestStages best{.objective = std::numeric_limits<double>::infinity()};
  for (;;) {
    if (const auto cost = plain_cost(problem, mapping)) {
      ++best.feasible;
      best.skipping += skips(problem, mapping) ? 1 : 0;
      const bool slowest = problem.objective == Objective::Bottleneck;
      best.objective = std::min(best.objective, slowest ? cost->slowest_stage : cost->step);
    }
    std::size_t digit = mapping.partition.size();
    while (digit > 0 && ++mapping.partition[digit - 1] == indices) mapping.partition[--digit] = 0;
    if (digit == 0) return best;
  }
}

}  // namespace dfsearch::test
