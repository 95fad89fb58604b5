#include "io/result/result_json.hpp"

#include "base/version.hpp"
#include "io/result/answer_json.hpp"
#include "io/result/answer_signs.hpp"
#include "io/result/asked_json.hpp"
#include "io/result/event_json.hpp"
#include "io/result/event_text.hpp"

namespace dfsearch {
namespace {

using calculon::Cost;
using calculon::Execution;
using calculon::ExecutionResult;
using calculon::FoundExecution;
using calculon::MemoryParts;
using calculon::MemoryUse;

/// With the keys of the section `calculon`.
Json decisions_json(const Execution& execution) {
  return {{"tensor", execution.tensor},
          {"pipeline", execution.pipeline},
          {"data", execution.data},
          {"networks", execution.networks},
          {"global_batch", execution.global_batch},
          {"micro_batch", execution.micro_batch},
          {"chunks", execution.chunks},
          {"recompute", name_of(execution.recompute)},
          {"communication", name_of(execution.communication)},
          {"overlap", name_of(execution.overlap)},
          {"redo", execution.redo},
          {"data_overlap", execution.data_overlap},
          {"fused", execution.fused},
          {"sharding", execution.sharding},
          {"offload", offload_json(execution.offload)}};
}

Json parallelism_json(const Execution& execution) {
  return {{"tensor", execution.tensor}, {"pipeline", execution.pipeline}, {"data", execution.data}};
}

Json time_json(const calculon::StepTime& time) {
  return {{"forward", number(time.forward)},     {"backward", number(time.backward)},
          {"recompute", number(time.recompute)}, {"optimizer", number(time.optimizer)},
          {"tensor", number(time.tensor)},       {"tensor_again", number(time.tensor_again)},
          {"pipeline", number(time.pipeline)},   {"bubble", number(time.bubble)},
          {"data", number(time.data)},           {"offload", number(time.offload)}};
}

Json block_json(const calculon::BlockTimes& block) {
  return {{"forward", number(block.forward.time)},
          {"input_gradient", number(block.input_gradient.time)},
          {"weight_gradient", number(block.weight_gradient.time)},
          {"recompute", number(block.recompute.time)}};
}

Json parts_json(const MemoryParts& parts) {
  return {{"weights", number(parts.weights)},
          {"activations", number(parts.activations)},
          {"gradients", number(parts.gradients)},
          {"weight_gradients", number(parts.weight_gradients)},
          {"optimizer", number(parts.optimizer)}};
}

Json memory_json(const MemoryUse& use) {
  return {{"first", number(use.first.total())}, {"second", number(use.second.total())}};
}

void put_found(Json& json, const FoundExecution& found) {
  const Cost* cost = found.cost ? &*found.cost : nullptr;
  json["parallelism"] = cost != nullptr ? parallelism_json(*found.execution) : Json();
  json["execution"] = cost != nullptr ? decisions_json(*found.execution) : Json();
  json["memory"] = cost != nullptr ? memory_json(cost->memory) : Json();
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
          {"execution", decisions_json(result.misfit->execution)}};
}

}  // namespace

std::string incumbent_event(const Progress& progress, const calculon::Execution& execution) {
  Json json = with_progress("incumbent", progress);
  json["parallelism"] = parallelism_json(execution);
  json["execution"] = decisions_json(execution);
  return line(json);
}

Json answer_json(const calculon::Task& task, const ExecutionResult& result) {
  const calculon::Cost* cost = result.cost ? &*result.cost : nullptr;
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
  json["parallelism"] = cost != nullptr ? parallelism_json(*result.execution) : Json();
  json["execution"] = cost != nullptr ? decisions_json(*result.execution) : Json();
  json["time"] = cost != nullptr ? time_json(cost->parts) : Json();
  json["block"] = cost != nullptr ? block_json(cost->block) : Json();
  json["memory"] = cost != nullptr ? memory_json(cost->memory) : Json();
  json["memory_parts"] = cost != nullptr ? Json{{"first", parts_json(cost->memory.first)},
                                                {"second", parts_json(cost->memory.second)}}
                                         : Json();
  json["candidates"] = or_null(result.candidates);
  json["feasible"] = or_null(result.feasible);
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
