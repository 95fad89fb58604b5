#include "io/result/result_json.hpp"

#include <algorithm>

#include "io/result/answer_json.hpp"
#include "io/result/asked_json.hpp"
#include "io/result/plan_lack.hpp"
#include "io/result/unused_keys.hpp"
#include "model/training/decisions.hpp"
#include "model/training/fused_part.hpp"
#include "model/training/plan.hpp"
#include "model/training/step.hpp"
#include "model/training/switch_times.hpp"

namespace dfsearch {
namespace {

using training::BlockExchange;
using training::Degrees;
using training::Division;
using training::FoundPlan;
using training::kRoles;
using training::MemoryUse;
using training::Part;
using training::Plan;
using training::PlanResult;
using training::Role;
using training::StepParts;
using PlanCost = training::Cost;

/// `data` counts all replicas, including replicas that divide the experts, and `expert` all ranks
/// that divide the experts.
Json parallelism_json(const Plan& plan) {
  const Degrees& degrees = plan.degrees;
  return {{"tensor", degrees[Role::Tensor]},
          {"context", degrees[Role::Context]},
          {"expert", expert_ranks(degrees, plan.layout)},
          {"pipeline", degrees[Role::Pipeline]},
          {"data", degrees.replicas()}};
}

/// Division of each dimension among the roles, innermost first; here `data` excludes `expert`.
Json network_json(const Plan& plan) {
  return json_list(plan.network, [](const Division& dimension) {
    Json roles = Json::object();
    for (const Role role : kRoles) {
      if (dimension[role] > 1) roles[training::name_of(role)] = dimension[role];
    }
    if (!dimension.order.empty()) {
      roles["order"] = value_json(dimension.order);
      roles["fill"] = name_of(dimension.fill);
    }
    return roles;
  });
}

/// The value of a decision: a number, a word, or a list of modules to recompute.
Json taken_json(const training::Decision& decision, const Plan& plan) {
  const Type& type = *decision.taken.type;
  if (type.form != Form::Choice) {
    return written(type, decision.taken.in(const_cast<Plan*>(&plan)));
  }
  const auto words = decision.words ? decision.words(plan) : std::vector{decision.text_of(plan)};
  return words.size() == 1 ? Json(words.front()) : Json(words);
}

/// The decisions as keys of the section `training`.
Json shape_json(const Plan& plan) {
  Json json = Json::object();
  for (const training::Decision& decision : training::decisions()) {
    append(json, std::string(decision.given.key), taken_json(decision, plan));
  }
  json["layers"] = plan.layers;
  return json;
}
constexpr auto kPlanKeys =
    join(key<Plan, &parallelism_json>("parallelism"), key<Plan, &network_json>("network"),
         DFSEARCH_KEYS(Plan, micro_batch), key<Plan, &shape_json>("plan"));

/// The partitions of each part; null where kernels run one by one.
Json fusion_json(const training::Task& task, const PlanResult& result) {
  if (task.style == Style::KernelByKernel || !result.cost) return {};
  constexpr auto kPartitionKeys =
      DFSEARCH_KEYS(training::FusedSummary::Partition, kernels, time, bound_by, sram);
  const auto partition_json = [&](const auto& partition) {
    return object_json(kPartitionKeys, &partition);
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

constexpr auto kTimeKeys = join(DFSEARCH_KEYS(StepParts, compute, recompute, tensor, context,
                                              expert, pipeline, bubble, data, optimizer, offload),
                                key<StepParts, &StepParts::host>("host", true));
Json time_json(const PlanCost& cost) { return object_json(kTimeKeys, &cost.parts); }

/// With a stack: the bytes at each level, and the parts of the peak.
Json judgement_json(const training::MemoryJudgement& judgement) {
  Json json = Json::object();
  for (const memory::Level level : memory::kLevels) {
    json[name_of(level)] = number(judgement.needed[level]);
  }
  json["visible"] = number(judgement.visible);
  json["verdict"] = name_of(judgement.verdict);
  json["moment"] = name_of(judgement.held.moment);
  json["allocated"] = json_number(judgement.held.allocated());
  return json;
}

Json memory_json(const MemoryUse& use, std::int64_t stage,
                 const std::optional<training::MemoryJudgement>& judgement) {
  Json json = object_json(DFSEARCH_KEYS(MemoryUse, weights, gradients, optimizer, activations,
                                        working, ends, total, second),
                          &use);
  json["stage"] = stage;
  put(json, key<MemoryUse, &MemoryUse::runtime>("runtime", true), &use);
  if (judgement) json["judgement"] = judgement_json(*judgement);
  return json;
}
Json memory_of_cost(const PlanCost& cost) {
  return memory_json(cost.memory, cost.fullest, cost.judgement);
}

void put_found(Json& json, const FoundPlan& found) {
  put(json, kPlanKeys, found.cost ? &*found.plan : nullptr);
  put(json, join(key<PlanCost, &memory_of_cost>("memory"), DFSEARCH_KEYS(PlanCost, objective)),
      found.cost ? &*found.cost : nullptr);
}

Json robust_json(const training::RobustPlan& robust) {
  Json json = {
      {"status", name_of(robust.status)},
      {"regret", json_number(robust.regret)},
      {"lower_bound", json_number(std::max(robust.lower_bound.in_base_units() - 1.0, 0.0))},
      {"step_time", number(robust.cost->step_time)}};
  put(json, kPlanKeys, &*robust.plan);
  using Outcome = training::RobustPlan::ScenarioTimes;
  constexpr auto kOutcomeKeys = join(
      key<Outcome, &Outcome::scenario>("name"), DFSEARCH_KEYS(Outcome, best),
      key<Outcome, &Outcome::least>("lower_bound"), DFSEARCH_KEYS(Outcome, typical_best, robust));
  json["scenarios"] = json_list(
      robust.outcomes, [&](const Outcome& outcome) { return object_json(kOutcomeKeys, &outcome); });
  json["nodes"] = robust.nodes;
  return json;
}

const char* exchange_name(training::Exchange exchange) {
  if (exchange == training::Exchange::AllGather) return "all_gather";
  if (exchange == training::Exchange::ReduceScatter) return "reduce_scatter";
  return exchange == training::Exchange::AllReduce ? "all_reduce" : "all_to_all";
}

/// `bytes` are the bytes that each chip contributes.
Json exchange_json(const BlockExchange& exchange, Phase phase, const training::Degrees& degrees) {
  const bool pieces = exchange.exchange == training::Exchange::AllGather ||
                      exchange.exchange == training::Exchange::AllToAll;
  const double share = pieces ? 1.0 / static_cast<double>(degrees[exchange.role]) : 1.0;
  return {{"role", training::name_of(exchange.role)},
          {"exchange", exchange_name(exchange.exchange)},
          {"pass", phase == Phase::Forward ? "forward" : "backward"},
          {"beside", exchange.behind_attention},
          {"bytes", number(share * exchange.whole)}};
}

/// The work of a micro-batch, part by part; null with a stack, which counts exchanges differently.
Json work_json(const training::Task& task, const training::Plan& plan,
               const training::Fusions& fusions) {
  if (task.stack) return {};
  const training::Blocks blocks = training::blocks_of(task);
  const training::Profiles profiles = training::profiles_of(task, blocks, plan, fusions);
  Json parts = Json::object();
  for (const Part part : training::kParts) {
    if (!blocks[part]) continue;
    const training::BlockProfile& block = of(profiles, part);
    const bool is_layer = part == Part::Layer || part == Part::OtherLayer;
    const auto again = is_layer ? plan.recompute : training::Recompute::None;
    training::WorkTime backward = block.input_gradient;
    backward += block.weight_gradient;
    if (again == training::Recompute::Selective) backward += block.scoring;
    if (again == training::Recompute::Full) backward += block.forward;
    const training::OptimizerWork optimizer = training::optimizer_work(task, plan, block);
    Json exchanges = Json::array();
    for (const BlockExchange& exchange : block.exchanges) {
      exchanges.push_back(exchange_json(exchange, exchange.phase, plan.degrees));
      const bool repeats = again == training::Recompute::Full && exchange.phase == Phase::Forward &&
                           !exchange.behind_attention;
      if (repeats) exchanges.push_back(exchange_json(exchange, Phase::Backward, plan.degrees));
    }
    if (part == Part::Last && plan.degrees[Role::Tensor] > 1 && task.model.vocabulary > 0) {
      const double tokens = static_cast<double>(task.pass.tokens * plan.micro_batch) /
                            static_cast<double>(plan.degrees[Role::Context]);
      const BlockExchange loss{.role = Role::Tensor,
                               .exchange = training::Exchange::AllReduce,
                               .whole = Bytes(training::kLossBytes * tokens)};
      for (int i = 0; i < static_cast<int>(training::kLossExchanges); ++i) {
        exchanges.push_back(exchange_json(loss, Phase::Forward, plan.degrees));
      }
    }
    const double word = task.pass.word.in_base_units();
    const double parameters = parameters_in(task, plan.degrees, block);
    const std::int64_t count = part == Part::Layer        ? blocks.order.layers
                               : part == Part::OtherLayer ? blocks.order.other_layers
                                                          : 1;
    parts[training::name_of(part, task.model)] = {
        {"count", count},
        {"forward", number(block.forward.time)},
        {"backward", number(backward.time)},
        {"forward_flop", number(block.forward.flop)},
        {"backward_flop", number(backward.flop)},
        {"forward_bytes", number(block.forward.moved)},
        {"backward_bytes", number(backward.moved)},
        {"optimizer_flop", number(optimizer.flop)},
        {"optimizer_bytes", number(optimizer.moved)},
        {"gradients", json_number(parameters * task.bytes.sent)},
        {"expert_gradients", json_number(block.expert_parameters * task.bytes.sent)},
        {"weights", json_number(parameters * word)},
        {"expert_weights", json_number(block.expert_parameters * word)},
        {"exchanges", std::move(exchanges)}};
  }
  const Part handing = blocks.order.layers > 0 ? Part::Layer : Part::OtherLayer;
  Json work = {{"parts", std::move(parts)}, {"handed", number(of(profiles, handing).input)}};
  if (blocks.order.every > 0) work["full_attention_every"] = blocks.order.every;
  return work;
}

/// Key of a quantity, in the form that `--set` takes.
constexpr auto key_words(training::NumberChange::Kind) {
  using Kind = training::NumberChange::Kind;
  return named<Kind>({{"system.memory.capacity", Kind::Memory},
                      {"system.memory.second.capacity", Kind::SecondMemory},
                      {"system.chips", Kind::Chips},
                      {"workload.sequence", Kind::Sequence},
                      {"workload.global_batch", Kind::Batch}});
}

const char* key_of(training::NumberChange::Kind kind) {
  for (const auto& word : key_words(kind)) {
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
    put(json, kPlanKeys, change.with ? &change.with->plan : nullptr);
    return json;
  });
}

Json software_json(const std::vector<training::FittingSoftware>& software) {
  return json_list(software, [](const training::FittingSoftware& one) -> Json {
    return {
        {"stack", one.stack}, {"verdict", name_of(one.verdict)}, {"needed", number(one.needed)}};
  });
}

Json infeasible_json(const training::Task& task, const PlanResult& result) {
  if (!result.misfit) return {};
  Json remedies = json_list(result.misfit->remedies, [](const training::Remedy& remedy) {
    Json also = Json::array();
    if (remedy.with_data) also.push_back("parallelism.data");
    if (remedy.without_layers) also.push_back("training.layers");
    Json json = {{"key", remedy.key}, {"needed", number(remedy.needed)}, {"also", std::move(also)}};
    put(json, kPlanKeys, &remedy.plan);
    return json;
  });
  const training::Misfit& misfit = result.misfit->misfit;
  const PlanLack lack = lack_of(task, misfit);
  Json json = {{"limit", lack.limit},
               {"stage", misfit.stage},
               {"needed", number(lack.needed)},
               {"available", number(lack.available)},
               {"memory", memory_json(misfit.memory, misfit.stage, misfit.judgement)}};
  put(json, kPlanKeys, &result.misfit->plan);
  json["software"] = result.software ? software_json(*result.software) : Json();
  json["remedies"] = std::move(remedies);
  const std::optional<bool>& complete = result.misfit->changes_complete;
  json["changes"] = complete ? changes_json(result.misfit->changes) : Json();
  json["changes_complete"] = or_null(complete);
  return json;
}

/// The step time with each other value of the switches of experts.
Json switches_json(const training::Task& task, const PlanResult& result) {
  if (!task.stack || !result.plan) return {};
  return json_list(training::switch_times(task, result.assumed, *result.plan),
                   [](const training::SwitchTime& time) -> Json {
                     return {{"switch", time.to.key},
                             {"value", time.to.value},
                             {"step_time", number(time.step)}};
                   });
}

}  // namespace

Json decisions_json(const training::Task&, const Plan& plan) {
  return object_json(kPlanKeys, &plan);
}

Json answer_json(const training::Task& task, const PlanResult& result) {
  const PlanCost* cost = result.cost ? &*result.cost : nullptr;
  Json json = Json::object();
  json["dfsearch"] = kVersion;
  put_answer(json, result);
  json["objective_name"] = name_of(task.objective);
  if (cost != nullptr) json["objective"] = number(cost->objective);
  json["interval"] =
      result.interval ? Json{number(result.interval->low), number(result.interval->high)} : Json();
  json["switches"] = switches_json(task, result);
  json["decided"] = task.stack ? Json(name_of(result.decided)) : Json();
  json["assumed"] = assumed_keys(result.assumed);
  json["framework"] = result.any_framework
                          ? Json{{"name", name_of(*task.framework)},
                                 {"step_time_of_any", number(result.any_framework->best)},
                                 {"lower_bound_of_any", number(result.any_framework->lower_bound)},
                                 {"gain", json_number(result.any_framework->gain)}}
                          : Json();
  json["robust"] = result.robust ? robust_json(*result.robust) : Json();
  put(json, kPriceKeys<PlanCost>, cost);
  json["energy"] =
      cost != nullptr
          ? energy_json(cost->energy, cost->tokens_per_second * cost->step_time.in_base_units())
          : Json();
  std::optional<double> tokens;
  if (cost != nullptr) tokens = cost->tokens_per_second;
  put_rates(json, tokens, task.machine.chips, cost != nullptr ? cost->price : Dollars{});
  json["model"] = value_json(count(task.model, task.pass.tokens, task.pass.word));
  put(json, kPlanKeys, cost != nullptr ? &*result.plan : nullptr);
  put(json,
      join(DFSEARCH_KEYS(PlanCost, micro_batches),
           key<PlanCost, &PlanCost::slowest>("slowest_stage"), key<PlanCost, &time_json>("time"),
           key<PlanCost, &memory_of_cost>("memory")),
      cost);
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
  put(json["search"], DFSEARCH_KEYS(PlanResult, candidates, feasible), &result);
  json["search"]["space"] = counted_space(result.candidates);
  check_signs(json);
  return json;
}

}  // namespace dfsearch
