#include "io/config/config_readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/stages/stage_order.hpp"
#include "graph/workloads/llm/transformer_graph.hpp"
#include "model/machine/network_choices.hpp"
#include "model/scope.hpp"

namespace dfsearch {
namespace {

/// Place of a key of a section, or else of the section, or else of the root.
Place place_of(const YamlNode& root, const char* section, const char* key) {
  const YamlEntry* outer = root.find(section);
  if (outer == nullptr) return root.place;
  const YamlEntry* inner = outer->value.find(key);
  return inner != nullptr ? inner->value.place : outer->place;
}

void unroll(Problem& problem) {
  Workload& workload = problem.workload;
  const DataflowGraph layer(workload.graph.kernels(), workload.graph.tensors(),
                            workload.graph.seams());
  const DataflowGraph all = unrolled_layers(layer, workload.layers);
  std::vector<std::optional<LoopPair>> pins;
  for (const Kernel& kernel : all.kernels()) {
    if (problem.sharding_pins.empty()) break;
    const auto own =
        std::find_if(layer.kernels().begin(), layer.kernels().end(), [&](const Kernel& candidate) {
          return kernel.name == candidate.name ||
                 kernel.name.substr(kernel.name.find('.') + 1) == candidate.name;
        });
    pins.push_back(problem.sharding_pins[static_cast<std::size_t>(own - layer.kernels().begin())]);
  }
  problem.sharding_pins = std::move(pins);
  std::vector<Tensor> steps = all.seams();
  std::erase_if(steps, [](const Tensor& seam) { return !seam.next_step; });
  workload.graph = DataflowGraph(all.kernels(), all.tensors(), std::move(steps));
  workload.layers = 1;
}

}  // namespace

void resolve_defaults_of_stages(const YamlNode& root, Config& config, InputMessages& messages) {
  Problem& problem = config.problem;
  const Place stages = place_of(root, "execution", "stages");
  if (!problem.divides_graph()) {
    if (problem.objective == Objective::Bottleneck) {
      messages.add(place_of(root, "search", "objective"), "objective",
                   "bottleneck needs 'stages: graph' in 'execution', in which pipeline stages "
                   "divide the graph");
    }
    return;
  }
  const Workload& workload = problem.workload;
  if (workload.kind != WorkloadKind::Graph && workload.kind != WorkloadKind::Lstm) {
    messages.add(stages, "stages",
                 "expected layers: 'stages: graph' needs a workload of kind graph or lstm; "
                 "'dfsearch graph' writes any workload as kind graph");
    return;
  }
  const auto refuse = [&](bool wrong, const char* section, const char* key, const char* what) {
    if (wrong) messages.add(place_of(root, section, key), key, what);
  };
  refuse(!problem.execution.pins.empty(), "execution", "pins",
         "not allowed with 'stages: graph', which numbers the partitions of each stage; remove "
         "this key");
  refuse(workload.boundary > Bytes{}, "workload", "boundary",
         "not allowed with 'stages: graph', in which a stage sends the tensors that cross its "
         "border; remove this key");
  refuse(problem.system.second_memory() != nullptr, "system", "memory",
         "expected one memory tier with 'stages: graph'; remove 'memory.second'");
  refuse(config.design && !config.chip, "system", "budget",
         "'stages: graph' needs a budget without shares left to the search; expected all shares");
  if (workload.graph.has_backward()) {
    refuse(problem.equations.phases == SplitPhases::Halves, "equations", "phases",
           "expected separate: with 'stages: graph', a graph with backward kernels keeps its "
           "phases apart");
    for (const Kernel& kernel : workload.graph.kernels()) {
      if (kernel.phase == Phase::Forward || kernel.forward()) continue;
      messages.add(place_of(root, "workload", "kernels"), "kernels",
                   kernel.name +
                       " is a backward kernel, which must be in the stage of a forward kernel; "
                       "expected 'backward_of' with the name of that kernel");
    }
  }
  // There is a border after each kernel, and one before the first.
  constexpr auto kMost = static_cast<std::int64_t>(kMostStageIdeals) - 1;
  const auto kernels = static_cast<std::int64_t>(workload.graph.kernel_count());
  if (kernels > kMost / workload.layers) {
    messages.add(stages, "stages",
                 fmt::format("'stages: graph' divides all layers at once, expected at most {} "
                             "kernels in all, got {} in each of {} layers",
                             kMost, kernels, workload.layers));
  }
  if (messages.count() > 0) return;
  unroll(problem);
  if (problem.sharding == ShardingChoice::Joint &&
      sharding_matters(problem, network_choices(problem))) {
    messages.add(stages, "stages",
                 "'stages: graph' needs the sharding to be chosen before the search, expected "
                 "'sharding: least_bytes' in 'search'");
  }
}

}  // namespace dfsearch
