#include "io/result/asked_json.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "graph/names.hpp"
#include "model/names.hpp"

namespace dfsearch {
namespace {

Json workload_json(WorkloadKind kind, std::int64_t layers, std::int64_t sequence, Json batch) {
  return {{"kind", name_of(kind)},
          {"layers", layers},
          {"sequence", sequence},
          {"global_batch", std::move(batch)}};
}

Json tier_json(BytesPerSecond bandwidth, Bytes capacity) {
  return {{"bandwidth", number(bandwidth)}, {"capacity", number(capacity)}};
}

template <class Tier>
Json second_json(const std::optional<Tier>& tier) {
  return tier ? tier_json(tier->bandwidth, tier->capacity) : Json();
}

Json dimensions_json(const std::vector<NetworkDimension>& network) {
  Json list = Json::array();
  for (const NetworkDimension& dimension : network) {
    list.push_back({{"topology", name_of(dimension.topology)},
                    {"degree", dimension.degree ? Json(*dimension.degree) : Json()},
                    {"bandwidth", number(dimension.bandwidth)},
                    {"latency", number(dimension.latency)}});
  }
  return list;
}

/// Of a machine that says what its engines reach; it has no SRAM of its own.
template <class Machine>
Json machine_json(const Machine& machine, Json network) {
  return {{"chips", machine.chips},
          {"peak", number(machine.matrix.peak)},
          {"sram", nullptr},
          {"memory", tier_json(machine.memory.bandwidth, machine.memory.capacity)},
          {"second_memory", second_json(machine.second)},
          {"network", std::move(network)}};
}

}  // namespace

Json asked_workload_json(const Workload& workload) {
  return workload_json(workload.kind, workload.layers, workload.sequence, workload.global_batch);
}

Json asked_workload_json(const calculon::Task& task) {
  const auto kind =
      task.transformer.training ? WorkloadKind::LlmTraining : WorkloadKind::LlmPrefill;
  const auto& batch = task.choices.global_batch;
  return workload_json(kind, task.transformer.layers, task.transformer.sequence,
                       batch ? Json(*batch) : Json());
}

Json asked_workload_json(const training::Task& task) {
  return workload_json(WorkloadKind::LlmTraining, task.model.layers, task.pass.tokens,
                       task.global_batch);
}

Json asked_machine_json(const System& system) {
  if (!(system.accelerator.peak() > FlopsPerSecond{})) return {};
  return {{"chips", system.chips},
          {"peak", number(system.accelerator.peak())},
          {"sram", number(system.accelerator.sram)},
          {"memory", tier_json(system.memory.bandwidth, system.memory.capacity)},
          {"second_memory", second_json(system.memory.second)},
          {"network", dimensions_json(system.network)}};
}

Json asked_machine_json(const calculon::Machine& machine) {
  Json network = Json::array();
  for (const calculon::Network& each : machine.networks) {
    network.push_back({{"topology", nullptr},
                       {"degree", each.size},
                       {"bandwidth", number(each.bandwidth)},
                       {"latency", number(each.latency)}});
  }
  return machine_json(machine, std::move(network));
}

Json asked_machine_json(const training::Machine& machine) {
  return machine_json(machine, dimensions_json(machine.network));
}

Json asked_graph_json(const Workload& workload) {
  const DataflowGraph& graph = workload.graph;
  Json kernels = Json::array();
  for (const Kernel& kernel : graph.kernels()) {
    kernels.push_back({{"name", kernel.name},
                       {"kind", name_of(kernel.kind)},
                       {"phase", name_of(kernel.phase)},
                       {"flop", number(kernel_flops(kernel))}});
  }
  Json tensors = Json::array();
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const Tensor& tensor = graph.tensors()[t];
    const Bytes bytes = static_cast<double>(graph.rows(TensorId(t))) *
                        static_cast<double>(graph.kernel(tensor.from).n) * workload.word;
    tensors.push_back({{"from", graph.kernel(tensor.from).name},
                       {"to", graph.kernel(tensor.to).name},
                       {"bytes", number(bytes)}});
  }
  return {{"kernels", std::move(kernels)}, {"tensors", std::move(tensors)}};
}

}  // namespace dfsearch
