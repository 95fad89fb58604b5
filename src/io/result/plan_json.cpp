#include "io/result/result_json.hpp"

#include <algorithm>

#include "base/version.hpp"
#include "io/result/answer_json.hpp"
#include "io/result/answer_signs.hpp"
#include "io/result/asked_json.hpp"
#include "io/result/event_json.hpp"
#include "io/result/event_text.hpp"
#include "io/result/model_json.hpp"
#include "io/result/plan_lack.hpp"
#include "io/result/unused_keys.hpp"
#include "io/result/work_json.hpp"
#include "model/names.hpp"
#include "model/training/fused_part.hpp"
#include "model/training/plan.hpp"

namespace dfsearch {
namespace {

using training::Degrees;
using training::Division;
using training::FoundPlan;
using training::kRoles;
using training::MemoryUse;
using training::Plan;
using training::PlanResult;
using training::Role;

/// `data` counts all replicas, those that divide the experts among them included, and `expert` all
/// ranks that divide the experts.
Json parallelism_json(const Plan& plan) {
  const Degrees& degrees = plan.degrees;
  return {{"tensor", degrees[Role::Tensor]},
          {"context", degrees[Role::Context]},
          {"expert", expert_ranks(degrees, plan.layout)},
          {"pipeline", degrees[Role::Pipeline]},
          {"data", degrees.replicas()}};
}

/// How each dimension is divided among the roles, innermost first; `data` without `expert`.
Json network_json(const Plan& plan) {
  return json_list(plan.network, [](const Division& dimension) {
    Json roles = Json::object();
    for (const Role role : kRoles) {
      if (dimension[role] > 1) roles[training::name_of(role)] = dimension[role];
    }
    if (!dimension.order.empty()) {
      roles["order"] =
          json_list(dimension.order, [](Role role) { return training::name_of(role); });
      roles["fill"] = name_of(dimension.fill);
    }
    return roles;
  });
}

/// With the keys of the section `training`, where the object can stand.
Json decisions_json(const Plan& plan) {
  return {{"layout", training::name_of(plan.layout)},
          {"recompute", training::name_of(plan.recompute)},
          {"zero", plan.zero},
          {"schedule", training::name_of(plan.schedule)},
          {"chunks", plan.chunks},
          {"layers", plan.layers},
          {"offload", offload_json(plan.offload)}};
}

/// Puts all that is decided.
void put_plan(Json& json, const Plan* plan) {
  json["parallelism"] = plan != nullptr ? parallelism_json(*plan) : Json();
  json["network"] = plan != nullptr ? network_json(*plan) : Json();
  json["micro_batch"] = plan != nullptr ? Json(plan->micro_batch) : Json();
  json["plan"] = plan != nullptr ? decisions_json(*plan) : Json();
}

/// The partitions of each part; null where kernels run one by one.
Json fusion_json(const training::Task& task, const PlanResult& result) {
  if (task.style == Style::KernelByKernel || !result.cost) return {};
  const auto partition_json = [](const auto& partition) -> Json {
    return {{"kernels", partition.kernels},
            {"time", number(partition.time)},
            {"bound_by", name_of(partition.bound_by)},
            {"sram", number(partition.sram)}};
  };
  const auto parts = training::fused_summary(task, *result.plan, result.fusions);
  return json_list(parts, [&](const auto& part) -> Json {
    return {{"part", part.part},
            {"pass", training::name_of(part.kind)},
            {"time", number(part.time)},
            {"tile", part.partitions.empty() ? Json() : Json(part.tile)},
            {"partitions", json_list(part.partitions, partition_json)}};
  });
}

Json time_json(const training::StepParts& parts) {
  Json json = {{"compute", number(parts.compute)},     {"recompute", number(parts.recompute)},
               {"tensor", number(parts.tensor)},       {"context", number(parts.context)},
               {"expert", number(parts.expert)},       {"pipeline", number(parts.pipeline)},
               {"bubble", number(parts.bubble)},       {"data", number(parts.data)},
               {"optimizer", number(parts.optimizer)}, {"offload", number(parts.offload)}};
  if (parts.host > Seconds{}) json["host"] = number(parts.host);
  return json;
}

Json memory_json(const MemoryUse& use, std::int64_t stage) {
  Json json = {{"weights", number(use.weights)},
               {"gradients", number(use.gradients)},
               {"optimizer", number(use.optimizer)},
               {"activations", number(use.activations)},
               {"working", number(use.working)},
               {"ends", number(use.ends)},
               {"total", number(use.total())},
               {"second", number(use.second)},
               {"stage", stage}};
  if (use.runtime > Bytes{}) json["runtime"] = number(use.runtime);
  return json;
}

void put_found(Json& json, const FoundPlan& found) {
  put_plan(json, found.cost ? &*found.plan : nullptr);
  json["memory"] = found.cost ? memory_json(found.cost->memory, found.cost->fullest) : Json();
}

Json robust_json(const training::RobustPlan& robust) {
  Json json = {
      {"status", name_of(robust.status)},
      {"regret", json_number(robust.regret)},
      {"lower_bound", json_number(std::max(robust.lower_bound.in_base_units() - 1.0, 0.0))},
      {"step_time", number(robust.cost->step_time)}};
  put_plan(json, &*robust.plan);
  const auto outcome_json = [](const training::RobustPlan::Outcome& outcome) -> Json {
    return {{"name", outcome.scenario},
            {"best", number(outcome.best)},
            {"lower_bound", number(outcome.least)},
            {"typical_best", number(outcome.typical_best)},
            {"robust", number(outcome.robust)}};
  };
  json["scenarios"] = json_list(robust.outcomes, outcome_json);
  json["nodes"] = robust.nodes;
  return json;
}

constexpr auto key_words(training::Remedy::Kind) {
  using Kind = training::Remedy::Kind;
  return named<Kind>({{"recompute", Kind::Recompute},
                      {"zero", Kind::Zero},
                      {"offload", Kind::Offload},
                      {"pipeline", Kind::Pipeline},
                      {"tensor", Kind::Tensor},
                      {"context", Kind::Context},
                      {"expert", Kind::Expert},
                      {"layers", Kind::Layers},
                      {"micro_batch", Kind::MicroBatch},
                      {"schedule", Kind::Schedule}});
}

/// As `--set` takes it.
constexpr auto key_words(training::NumberChange::Kind) {
  using Kind = training::NumberChange::Kind;
  return named<Kind>({{"system.memory.capacity", Kind::Memory},
                      {"system.memory.second.capacity", Kind::SecondMemory},
                      {"system.chips", Kind::Chips},
                      {"workload.sequence", Kind::Sequence},
                      {"workload.global_batch", Kind::Batch}});
}

template <class Kind>
const char* key_of(Kind kind) {
  for (const auto& word : key_words(Kind{})) {
    if (word.value == kind) return word.name;
  }
  return "";
}

Json changes_json(const std::vector<training::NumberChange>& changes) {
  return json_list(changes, [](const training::NumberChange& change) {
    Json json = {{"key", key_of(change.kind)},
                 {"given", json_number(change.given)},
                 {"tried", json_number(change.tried)},
                 {"is_enough", change.with.has_value()},
                 {"is_nearest", change.is_nearest},
                 {"needed", change.with ? number(change.with->needed) : Json()},
                 {"also", Json::array()}};
    if (change.also) {
      json["also"].push_back("parallelism." + std::string(training::name_of(*change.also)));
    }
    put_plan(json, change.with ? &change.with->plan : nullptr);
    return json;
  });
}

Json infeasible_json(const training::Task& task, const PlanResult& result) {
  if (!result.misfit) return {};
  Json remedies = json_list(result.misfit->remedies, [](const training::Remedy& remedy) {
    Json also = Json::array();
    if (remedy.with_data) also.push_back("parallelism.data");
    if (remedy.without_layers) also.push_back("training.layers");
    Json json = {
        {"key", key_of(remedy.kind)}, {"needed", number(remedy.needed)}, {"also", std::move(also)}};
    put_plan(json, &remedy.plan);
    return json;
  });
  const training::Misfit& misfit = result.misfit->misfit;
  const PlanLack lack = lack_of(task, misfit);
  Json json = {{"limit", lack.limit},
               {"stage", misfit.stage},
               {"needed", number(lack.needed)},
               {"available", number(lack.available)},
               {"memory", memory_json(misfit.memory, misfit.stage)}};
  put_plan(json, &result.misfit->plan);
  json["remedies"] = std::move(remedies);
  const std::optional<bool>& complete = result.misfit->changes_complete;
  json["changes"] = complete ? changes_json(result.misfit->changes) : Json();
  json["changes_complete"] = or_null(complete);
  return json;
}

}  // namespace

std::string incumbent_event(const Progress& progress, const Plan& plan) {
  Json json = with_progress("incumbent", progress);
  put_plan(json, &plan);
  return line(json);
}

Json answer_json(const training::Task& task, const PlanResult& result) {
  const training::Cost* cost = result.cost ? &*result.cost : nullptr;
  Json json = Json::object();
  json["dfsearch"] = kVersion;
  put_answer(json, result);
  json["interval"] =
      result.interval ? Json{number(result.interval->low), number(result.interval->high)} : Json();
  json["framework"] = result.any_framework
                          ? Json{{"name", name_of(*task.framework)},
                                 {"step_time_of_any", number(result.any_framework->best)},
                                 {"lower_bound_of_any", number(result.any_framework->lower_bound)},
                                 {"gain", json_number(result.any_framework->gain)}}
                          : Json();
  json["robust"] = result.robust ? robust_json(*result.robust) : Json();
  put_price(json, cost);
  std::optional<double> tokens;
  if (cost != nullptr) tokens = cost->tokens_per_second;
  put_rates(json, tokens, task.machine.chips, cost != nullptr ? cost->price : Dollars{});
  json["model"] = model_json(count(task.model, task.pass.tokens, task.pass.word));
  put_plan(json, cost != nullptr ? &*result.plan : nullptr);
  json["micro_batches"] = cost != nullptr ? Json(cost->micro_batches) : Json();
  json["slowest_stage"] = cost != nullptr ? Json(cost->slowest) : Json();
  json["time"] = cost != nullptr ? time_json(cost->parts) : Json();
  json["memory"] = cost != nullptr ? memory_json(cost->memory, cost->fullest) : Json();
  json["fusion"] = fusion_json(task, result);
  json["work"] = cost != nullptr ? work_json(task, *result.plan, result.fusions) : Json();
  json["top"] = top_json(result, put_found);
  json["top_complete"] = result.alternatives_complete;
  json["infeasible"] = infeasible_json(task, result);
  json["no_plan"] = result.no_plan ? Json(no_plan_text(task, *result.no_plan)) : Json();
  json["workload"] = asked_workload_json(task);
  json["machine"] = asked_machine_json(task.machine);
  json["not_modelled"] =
      json_list(unused_keys(task), [](const UnusedKey& unused) { return unused.key; });
  json["search"] = search_json(result.stats, result.measured, result.evaluated);
  json["search"]["fusions"] = result.fusions_searched;
  json["search"]["candidates"] = or_null(result.candidates);
  json["search"]["feasible"] = or_null(result.feasible);
  json["search"]["space"] = counted_space(result.candidates);
  check_signs(json);
  return json;
}

}  // namespace dfsearch
