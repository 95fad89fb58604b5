#include "io/result/result_json.hpp"

#include "io/result/answer_json.hpp"
#include "io/result/asked_json.hpp"

namespace dfsearch {
namespace {

using calculon::ExecutionResult;
using calculon::FoundExecution;
using calculon::MemoryUse;
using ExecutionCost = calculon::Cost;

constexpr auto kDegreeKeys = DFSEARCH_KEYS(calculon::Execution, tensor, pipeline, data);
/// The keys of the section `calculon`.
constexpr auto kDecisionKeys =
    join(kDegreeKeys,
         DFSEARCH_KEYS(calculon::Execution, networks, global_batch, micro_batch, chunks, recompute,
                       communication, overlap, redo, data_overlap, fused, sharding, offload));
constexpr auto kExecutionKeys = join(nested<calculon::Execution, kDegreeKeys>("parallelism"),
                                     nested<calculon::Execution, kDecisionKeys>("execution"));

Json block_json(const ExecutionCost& cost) {
  const calculon::BlockTimes& block = cost.block;
  return {{"forward", number(block.forward.time)},
          {"input_gradient", number(block.input_gradient.time)},
          {"weight_gradient", number(block.weight_gradient.time)},
          {"recompute", number(block.recompute.time)}};
}

Json memory_json(const ExecutionCost& cost) {
  const MemoryUse& use = cost.memory;
  return {{"first", number(use.first.total())}, {"second", number(use.second.total())}};
}

void put_found(Json& json, const FoundExecution& found) {
  const ExecutionCost* cost = found.cost ? &*found.cost : nullptr;
  put(json, kExecutionKeys, cost != nullptr ? &*found.execution : nullptr);
  put(json, key<ExecutionCost, &memory_json>("memory"), cost);
}

Json infeasible_json(const ExecutionResult& result) {
  if (!result.misfit) return {};
  const calculon::Misfit& misfit = result.misfit->misfit;
  const bool network =
      misfit.limit == calculon::Limit::NetworkSize || misfit.limit == calculon::Limit::NetworkFill;
  return {{"limit", name_of(misfit.limit)},
          {"needed", json_number(misfit.needed)},
          {"available", json_number(misfit.available)},
          {"network", network ? Json(misfit.network) : Json()},
          {"execution", object_json(kDecisionKeys, &result.misfit->execution)}};
}

}  // namespace

template <>
inline constexpr auto kKeys<calculon::StepTime> = DFSEARCH_KEYS(calculon::StepTime, forward,
                                                                backward, recompute, optimizer,
                                                                tensor, tensor_again, pipeline,
                                                                bubble, data, offload);
template <>
inline constexpr auto kKeys<calculon::MemoryParts> = DFSEARCH_KEYS(calculon::MemoryParts, weights,
                                                                   activations, gradients,
                                                                   weight_gradients, optimizer);
template <>
inline constexpr auto kKeys<MemoryUse> = DFSEARCH_KEYS(MemoryUse, first, second);

Json decisions_json(const calculon::Task&, const calculon::Execution& execution) {
  return object_json(kExecutionKeys, &execution);
}

Json answer_json(const calculon::Task& task, const ExecutionResult& result) {
  const ExecutionCost* cost = result.cost ? &*result.cost : nullptr;
  Json json = Json::object();
  json["dfsearch"] = kVersion;
  json["equations"] = "calculon";
  put_answer(json, result);
  std::optional<double> tokens;
  if (cost != nullptr) {
    tokens = static_cast<double>(task.transformer.sequence) *
             static_cast<double>(result.execution->global_batch) / cost->step_time.in_base_units();
  }
  put_rates(json, tokens, task.machine.chips, Dollars{});
  put(json, kExecutionKeys, cost != nullptr ? &*result.execution : nullptr);
  put(json,
      join(key<ExecutionCost, &ExecutionCost::parts>("time"),
           key<ExecutionCost, &block_json>("block"), key<ExecutionCost, &memory_json>("memory"),
           key<ExecutionCost, &ExecutionCost::memory>("memory_parts")),
      cost);
  put(json, DFSEARCH_KEYS(ExecutionResult, candidates, feasible), &result);
  json["top"] = top_json(result, put_found);
  json["top_complete"] = result.alternatives_complete;
  json["infeasible"] = infeasible_json(result);
  json["workload"] = asked_workload_json(task);
  json["machine"] = asked_machine_json(task.machine);
  json["search"] = search_json(result.stats, result.measured, result.evaluated);
  json["search"]["space"] = counted_space(result.candidates);
  check_signs(json);
  return json;
}

}  // namespace dfsearch
