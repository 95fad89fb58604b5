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

}  // namespace

Json asked_workload_json(const Workload& workload) {
  return workload_json(workload.kind, workload.layers, workload.sequence, workload.global_batch);
}

Json asked_workload_json(const calculon::Task& task) {
  const auto kind =
      task.transformer.training ? WorkloadKind::LlmTraining : WorkloadKind::LlmPrefill;
  return workload_json(kind, task.transformer.layers, task.transformer.sequence,
                       or_null(task.choices.global_batch));
}

Json asked_workload_json(const training::Task& task) {
  Json json = workload_json(WorkloadKind::LlmTraining, task.model.layers, task.pass.tokens,
                            task.global_batch);
  json["precision"] = task.stack ? Json(name_of(task.stack->precision)) : Json();
  json["heads"] = task.model.heads;
  json["kv_heads"] = task.model.kv_heads;
  json["experts"] = task.model.experts ? task.model.experts->count : 0;
  json["tied"] = task.model.tied;
  return json;
}

Json asked_workload_json(const serving::Task& task) {
  Json requests = json_list(task.requests, [](const serving::RequestClass& of) -> Json {
    return {{"input", of.input}, {"output", of.output}, {"prefix", of.prefix}, {"share", of.share}};
  });
  // A deployment names what is left open.
  Json precision = Json::object();
  for (const serving::PrecisionOf& of : serving::kPrecisionOf) {
    if (!task.is_open(of)) precision[of.name] = name_of(of.get(task.precisions.front()));
  }
  return {{"kind", "llm_serving"},
          {"layers", task.model.layers},
          {"precision", std::move(precision)},
          {"requests", std::move(requests)},
          {"rate", or_null(task.rate)},
          {"concurrency", or_null(task.concurrency)}};
}

Json asked_pools_json(const serving::Task& task) {
  return json_list(task.pools, [&](const serving::Pool& pool) -> Json {
    return {{"name", pool.name},
            {"chips", pool.chips},
            {"peak", number(pool.peak_of(task.precisions[0].of_products()))},
            {"memory", tier_json(pool.machine.memory[0])},
            {"usable", number(pool.usable())},
            {"network", network_json(pool.machine)},
            {"price", json_number(pool.price)},
            {"power", number(pool.power)}};
  });
}

Json asked_limits_json(const serving::Limits& limits) {
  return {{"ttft", or_null(limits.ttft)},
          {"tpot", or_null(limits.tpot)},
          {"e2e", or_null(limits.e2e)},
          {"cost", or_null(limits.cost)}};
}

Json tier_json(const MemoryTier& tier) {
  Json json = {{"bandwidth", number(tier.bandwidth)}, {"capacity", number(tier.capacity)}};
  if (tier.latency > Seconds{}) json["latency"] = number(tier.latency);
  return json;
}

Json network_json(const Machine& machine) {
  return json_list(machine.network, [](const NetworkDimension& dimension) -> Json {
    return {{"topology", dimension.measured ? Json() : topology_name(dimension)},
            {"degree", or_null(dimension.degree)},
            {"bandwidth", number(dimension.bandwidth)},
            {"latency", number(dimension.latency)}};
  });
}

Json sram_json(const Machine& machine) {
  const Bytes sram = machine.accelerator.sram;
  return sram > Bytes{} ? number(sram) : Json();
}

Json asked_machine_json(const Machine& machine) {
  if (!(machine.peak() > FlopsPerSecond{})) return {};
  const MemoryTier* second = machine.second_memory();
  Json json = {{"chips", machine.chips},
               {"peak", number(machine.peak())},
               {"sram", sram_json(machine)},
               {"memory", tier_json(machine.memory[0])},
               {"second_memory", second ? tier_json(*second) : Json()},
               {"network", network_json(machine)}};
  if (machine.price.by_peak) json["price_of_peak"] = machine.price.by_peak->polynomial;
  if (machine.power.by_peak) json["power_of_peak"] = machine.power.by_peak->polynomial;
  return json;
}

Json asked_graph_json(const Workload& workload) {
  const DataflowGraph& graph = workload.graph;
  Json kernels = json_list(graph.kernels(), [](const Kernel& kernel) -> Json {
    return {{"name", kernel.name},
            {"kind", name_of(kernel.kind)},
            {"phase", name_of(kernel.phase)},
            {"flop", number(kernel_flops(kernel))}};
  });
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
