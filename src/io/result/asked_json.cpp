#include "io/result/asked_json.hpp"

#include <cstdint>
#include <utility>

#include "graph/workloads/blocks/mixed_layers.hpp"
#include "io/config/shelf_figures.hpp"
#include "io/result/answer_json.hpp"

namespace dfsearch {

template <>
inline constexpr auto kKeys<serving::RequestClass> = DFSEARCH_KEYS(serving::RequestClass, input,
                                                                   output, prefix, share);

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
  put(json, DFSEARCH_KEYS(Transformer, heads, kv_heads), &task.model);
  json["experts"] = task.model.experts ? task.model.experts->count : 0;
  json["tied"] = task.model.tied;
  if (task.model.mixed) json["kinds"] = task.model.mixed->text();
  return json;
}

Json asked_workload_json(const serving::Task& task) {
  // Open values are in the deployment.
  Json precision = Json::object();
  for (const serving::PrecisionOf& of : serving::kPrecisionOf) {
    if (!task.is_open(of)) precision[of.name] = name_of(of.get(task.precisions.front()));
  }
  return {{"kind", "llm_serving"},
          {"layers", task.model.layers},
          {"precision", std::move(precision)},
          {"requests", value_json(task.requests)},
          {"rate", or_null(task.rate)},
          {"concurrency", or_null(task.concurrency)},
          {"num_requests", or_null(task.num_requests)}};
}

Json asked_pools_json(const serving::Task& task) {
  return json_list(task.pools, [&](const serving::Pool& pool) -> Json {
    return {{"name", pool.name},
            {"chips", pool.chips},
            {"peak", number(pool.peak_of(task.precisions[0].of_products()))},
            {"memory", value_json(pool.machine.memory[0])},
            {"usable", number(pool.usable())},
            {"network", value_json(pool.machine.network)},
            {"price", json_number(pool.price)},
            {"power", number(pool.power)}};
  });
}

Json asked_limits_json(const serving::Limits& limits) {
  return object_json(DFSEARCH_KEYS(serving::Limits, ttft, tpot, e2e, cost), &limits);
}

std::optional<Bytes> sram_of(const Machine& machine) {
  const Bytes sram = machine.accelerator.sram;
  return sram > Bytes{} ? std::optional(sram) : std::nullopt;
}

std::optional<std::string_view> topology_of(const NetworkDimension& dimension) {
  if (dimension.measured) return std::nullopt;
  return topology_name(dimension);
}

Json asked_machine_json(const Machine& machine) {
  if (!(machine.peak() > FlopsPerSecond{})) return {};
  Json json = object_json(kMachineKeys, &machine);
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

namespace {

void append_figures(Json& object, const SystemFigures& figures) {
  const Machine& machine = figures.machine;
  Json memory = value_json(machine.memory[0]);
  memory["second"] = value_json(machine.second_memory());
  append(object, "chips", or_null(figures.chips));
  append(object, "peak", number(machine.peak()));
  append(object, "sram", value_json(sram_of(machine)));
  append(object, "memory", std::move(memory));
  append(object, "network", value_json(machine.network));
}

void append_figures(Json& object, const WorkloadFigures& figures) {
  put(object,
      join(DFSEARCH_KEYS(WorkloadFigures, kind, layers, global_batch, flop),
           key<WorkloadFigures, &WorkloadFigures::counts>("model")),
      &figures);
}

void append_figures(Json& object, const StudyFigures& figures) {
  append(object, "dimensions", json_list(figures.dimensions, [](const DimensionOfStudy& dimension) {
           return object_json(DFSEARCH_KEYS(DimensionOfStudy, axes, choices), &dimension);
         }));
}

Json file_json(const ShelfFile& file) {
  Json object = {{"name", file.name}, {"description", file.description()}};
  if (file.kind == ShelfKind::Systems) append_figures(object, system_figures(file));
  if (file.kind == ShelfKind::Workloads) append_figures(object, workload_figures(file));
  if (file.kind == ShelfKind::Studies) append_figures(object, study_figures(file));
  return object;
}

}  // namespace

std::string shelf_json(std::span<const ShelfKind> kinds) {
  Json lists = Json::object();
  for (const ShelfKind kind : kinds) {
    append(lists, name_of(kind), json_list(shelf(kind), file_json));
  }
  return json_text(lists);
}

}  // namespace dfsearch
