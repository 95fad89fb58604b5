#include "io/result/result_json.hpp"

#include <cmath>

#include "io/result/answer_json.hpp"
#include "io/result/asked_json.hpp"
#include "model/serving/cache_room.hpp"
#include "model/serving/steady_state.hpp"

namespace dfsearch {
namespace {

using serving::Deployment;
using serving::Figures;
using serving::Role;
using serving::ServingResult;
using serving::Task;

/// A role with keys of the section `serving`.
Json role_json(const Task& task, const Role& role) {
  using serving::Structure;
  Json json = {{"pool", task.pools[role.structure.pool].name}};
  put(json, DFSEARCH_KEYS(Structure, tensor, pipeline, attention_data, expert), &role.structure);
  put(json, DFSEARCH_KEYS(Role, replicas, batch), &role);
  if (task.redundant_experts != std::vector<std::int64_t>{0}) {
    json["redundant_experts"] = role.structure.redundant_experts;
  }
  if (task.sub_batches != std::vector<std::int64_t>{1}) {
    json["sub_batches"] = role.structure.sub_batches;
  }
  return json;
}

void put_decoder(Json& json, const Task& task, const Role& role) {
  if (role.chunk > 0) json["chunk"] = role.chunk;
  if (task.speculation.kind != serving::Drafting::None) json["depth"] = role.depth;
}

Json deployment_json(const Task& task, const Deployment& deployment) {
  Json json = Json::object();
  json["mode"] = name_of(deployment.mode);
  for (const serving::PrecisionOf& of : serving::kPrecisionOf) {
    if (!task.is_open(of)) continue;
    json["precision"][of.name] =
        name_of(of.get(task.precisions[deployment.decode.structure.precision]));
  }
  Json decode = role_json(task, deployment.decode);
  put_decoder(decode, task, deployment.decode);
  if (deployment.mode == serving::Mode::Aggregated) {
    for (const auto& [key, value] : decode.items()) json[key] = value;
    return json;
  }
  json["prefill"] = role_json(task, deployment.prefill);
  json["decode"] = std::move(decode);
  return json;
}

constexpr auto kTimeKeys = DFSEARCH_KEYS(Figures, ttft, ttft_99, tpot, e2e, makespan, iteration);
constexpr auto kMixedKeys = DFSEARCH_KEYS(Figures, mixed_iteration, mixed_share);
constexpr auto kPairKeys = DFSEARCH_KEYS(Figures, prefill_pass, prefill_capacity, decode_capacity,
                                         transfer_capacity, transfer);
constexpr auto kRateKeys =
    DFSEARCH_KEYS(Figures, tokens_per_step, capacity, requests_per_s, in_flight, running, memory);
/// Parts of the energy of a token; null without energies of chips.
Json energy_of_token(const Figures& figures) {
  const Energy& energy = figures.energy;
  if (!(energy.sum() > Joules{})) return {};
  Json json = object_json(join(DFSEARCH_KEYS(Energy, clock), key<Energy, &Energy::idle>("static")),
                          &energy);
  put(json, DFSEARCH_KEYS(EnergyWork, math, memory, links), &energy.work);
  return json;
}

constexpr auto kOtherKeys =
    join(DFSEARCH_KEYS(Figures, chips, tokens_per_s, tokens_per_s_per_chip, tokens_per_s_per_user,
                       dollars_per_mtoken, dollars_per_mtoken_total, joule_per_token, edp),
         key<Figures, &energy_of_token>("energy"), key<Figures, &Figures::broken>("infeasible"));
constexpr auto kAggregatedKeys = join(kTimeKeys, kMixedKeys, kRateKeys, kOtherKeys);
constexpr auto kDisaggregatedKeys =
    join(kTimeKeys, kPairKeys, kRateKeys, DFSEARCH_KEYS(Figures, memory_prefill), kOtherKeys);

Json figures_json(const Deployment& deployment, const Figures& figures) {
  const bool is_pair = deployment.mode == serving::Mode::Disaggregated;
  return object_json(is_pair ? AnswerRows(kDisaggregatedKeys) : kAggregatedKeys, &figures);
}

Json parts_json(const serving::PartTimes& parts) {
  Json json = Json::object();
  for (std::size_t i = 0; i < serving::kParts; ++i) {
    json[name_of(static_cast<serving::Part>(i))] = json_number(parts[i]);
  }
  return json;
}

/// Parts of an iteration of the slowest stage, without and with a chunk of prefill.
Json breakdown_json(const Task& task, const Deployment& deployment, const Figures& figures) {
  const serving::Means means(task.requests);
  const Role& role = deployment.decode;
  const serving::Decoder decoder(task, means, role.structure, role.depth, role.chunk);
  const serving::Decoding at = decoder.at(role, figures);
  Json json = {{"iteration", parts_json(decoder.parts(at, false))}};
  if (role.chunk > 0) json["mixed_iteration"] = parts_json(decoder.parts(at, true));
  return json;
}

/// Memory for caches and for everything else on the fullest chip that decodes.
Json cache_json(const Task& task, const Deployment& deployment) {
  using serving::CacheRoom;
  const CacheRoom room = serving::cache_room(task, deployment);
  Json json = object_json(
      DFSEARCH_KEYS(CacheRoom, weights, activation, other, cache, tokens, max_model_len, requests),
      &room);
  json["levels"] = Json();
  json["verdict"] = room.filled ? Json(room.verdict_word()) : Json();
  if (!room.filled) return json;
  for (const memory::Level level : memory::kLevels) {
    json["levels"][name_of(level)] = number((*room.filled)[level]);
  }
  return json;
}

Json point_json(const Task& task, const serving::FrontPoint& point) {
  Json json = {{"deployment", deployment_json(task, point.deployment)}};
  put(json,
      DFSEARCH_KEYS(Figures, tokens_per_s_per_user, tokens_per_s_per_chip, dollars_per_mtoken,
                    joule_per_token, ttft, chips),
      &point.figures);
  return json;
}

/// Bound on the value of all deployments at each speed, from slightly slower to slightly faster
/// than the front, as pairs: (26) to (28) of docs/serving.md.
Json excluded_json(const Task& task, const ServingResult& result) {
  constexpr int kSteps = 60;
  constexpr double kBeyond = 1.5;
  Json list = Json::array();
  if (result.front.empty()) return list;
  const serving::Means means(task.requests);
  const double fastest = kBeyond / result.front.front().figures.tpot;
  const double slowest = 1.0 / (kBeyond * result.front.back().figures.tpot);
  for (int i = 0; i <= kSteps; ++i) {
    const double speed = slowest * std::pow(fastest / slowest, i / static_cast<double>(kSteps));
    const double least = least_of_request(task, means, task.front, 1.0 / speed);
    const bool cost = task.front == serving::FrontAxis::Cost;
    list.push_back({speed, json_number(cost ? least * 1e6 / means.output : means.output / least)});
  }
  return list;
}

/// The value of an objective in the unit that users see.
double shown(serving::Objective objective, double value) {
  return more_is_better(objective) ? 1.0 / value : value;
}

Json found_json(const Task& task, const serving::FoundDeployment& found, bool is_given) {
  const bool has = found.figures.has_value();
  const bool front = task.objective == serving::Objective::Front && !is_given;
  // The objective of a given deployment is the axis of the front.
  const serving::Objective of =
      !is_given || task.objective != serving::Objective::Front ? task.objective
      : task.front == serving::FrontAxis::Cost                 ? serving::Objective::Cost
                                               : serving::Objective::ThroughputPerChip;
  const auto value = [&](double cost) { return json_number(shown(of, cost)); };
  const bool bounded = !is_given && !front && found.status != SearchStatus::Infeasible &&
                       found.lower_bound > Score{} && found.lower_bound < Score::infinity();
  return {{"status", name_of(found.status)},
          {"stopped_by", value_json(found.stopped_by)},
          {"value", has && !front ? value(found.cost.in_base_units()) : Json()},
          {"bound", bounded ? value(found.lower_bound.in_base_units()) : Json()},
          {"gap", has && !is_given ? json_number(found.gap) : Json()},
          {"best", found.deployment && !front ? deployment_json(task, *found.deployment) : Json()},
          {"figures", has && !front ? figures_json(*found.deployment, *found.figures) : Json()}};
}

Json remedies_json(const Task& task, const ServingResult& result) {
  return json_list(result.remedies, [&](const serving::Remedy& remedy) -> Json {
    return {{"limit", name_of(remedy.limit)},
            {"given", json_number(remedy.given)},
            {"enough", json_number(remedy.enough)},
            {"deployment", deployment_json(task, remedy.deployment)},
            {"of", ""}};
  });
}

Json gains_json(const Task& task, const ServingResult& result) {
  return json_list(result.gains, [&](const serving::TenthMore& gain) -> Json {
    const auto value = [&] {
      return shown(task.objective, value_of(task.objective, task.front, gain.best->figures));
    };
    return {{"more", gain.more},
            {"pool", task.pools[gain.pool].name},
            {"value", gain.best ? json_number(value()) : Json()},
            {"deployment", gain.best ? deployment_json(task, gain.best->deployment) : Json()}};
  });
}

Json asked_fleet_json(const serving::Fleet& fleet) {
  Json models = Json::array();
  for (std::size_t m = 0; m < fleet.models.size(); ++m) {
    Json model = asked_workload_json(fleet.models[m]);
    model["name"] = fleet.names[m];
    model["limits"] = asked_limits_json(fleet.models[m].limits);
    models.push_back(std::move(model));
  }
  return {{"kind", "llm_serving"}, {"models", std::move(models)}};
}

Json fleet_json(const serving::Fleet& fleet, const ServingResult& result) {
  return json_list(result.fleet, [&](const serving::FleetMember& part) {
    const Task& task = fleet.models[part.model];
    Json json = {{"model", fleet.names[part.model]},
                 {"rate", json_number(*task.rate)},
                 {"count", part.count},
                 {"deployment", deployment_json(task, part.deployment)}};
    put(json, DFSEARCH_KEYS(Figures, capacity, ttft, tpot, joule_per_token, chips), &part.figures);
    return json;
  });
}

Json fleet_remedies_json(const ServingResult& result) {
  return json_list(result.fleet_remedies, [](const serving::FleetRemedy& remedy) -> Json {
    const auto& [limit, of, given, enough] = remedy;
    return {{"limit", limit},
            {"given", json_number(given)},
            {"enough", json_number(enough)},
            {"deployment", nullptr},
            {"of", of}};
  });
}

template <std::size_t n, class E>
Json counts_json(const std::array<std::int64_t, n>& counts) {
  Json json = Json::object();
  for (std::size_t i = 0; i < n; ++i) {
    if (counts[i] > 0) json[name_of(static_cast<E>(i))] = counts[i];
  }
  return json;
}

Json search_json(const ServingResult& result) {
  Json json = search_json(result.stats, 0, result.leaves);
  json["deployments"] = json_number(result.deployments);
  json["feasible"] = or_null(result.feasible);
  json["space"] = counted_space(result.deployments);
  json["intervals"] = result.stats.nodes;
  json["leaves"] = result.leaves;
  json["closed_by"] = counts_json<serving::kClosed, serving::Closed>(result.closed);
  json["batches_cut_by"] = counts_json<serving::kBroken, serving::Broken>(result.cut);
  return json;
}

}  // namespace

Json decisions_json(const Task& task, const Deployment& deployment) {
  return {{"deployment", deployment_json(task, deployment)}};
}

Json answer_json(const Task& task, const serving::Fleet& fleet,
                 const std::vector<MeasuredPoint>& measured, const ServingResult& result) {
  Json json = Json::object();
  json["dfsearch"] = kVersion;
  put(json, DFSEARCH_KEYS(ServingResult, status, stopped_by), &result);
  json["scope"] = scope_json(result.scope);
  json["objective_name"] = name_of(task.objective);
  const bool one =
      result.figures && (result.is_given || task.objective != serving::Objective::Front);
  const bool valued = one || !result.fleet.empty();
  json["objective"] = valued ? number(result.cost) : Json();
  json["lower_bound"] = valued && !result.is_given ? number(result.lower_bound) : Json();
  json["gap"] =
      (result.deployment || valued) && !result.is_given ? json_number(result.gap) : Json();
  const auto one_point = [&](const auto& point) { return point_json(task, point); };
  Json serving = found_json(task, result, result.is_given);
  serving["objective"] = name_of(task.objective);
  serving["time_to_first_token"] = one ? json_number(result.figures->ttft) : Json();
  serving["time_per_output_token"] = one ? json_number(result.figures->tpot) : Json();
  serving["breakdown"] = one ? breakdown_json(task, *result.deployment, *result.figures) : Json();
  serving["kv_cache"] = one ? cache_json(task, *result.deployment) : Json();
  serving["may_not_fit"] =
      result.at_low ? deployment_json(task, result.at_low->deployment) : Json();
  serving["front_axis"] = name_of(task.front);
  serving["front"] = json_list(result.front, one_point);
  serving["excluded"] = excluded_json(task, result);
  serving["measured"] = json_list(measured, [](const MeasuredPoint& point) {
    return object_json(DFSEARCH_KEYS(MeasuredPoint, name, tokens_per_s_per_user,
                                     tokens_per_s_per_chip, dollars_per_mtoken),
                       &point);
  });
  serving["best_of_mode"] = Json::object();
  for (const auto& best : result.best_of_mode) {
    if (!best) continue;
    serving["best_of_mode"][name_of(best->deployment.mode)] = point_json(task, *best);
  }
  serving["gains"] = gains_json(task, result);
  serving["fleet"] = fleet_json(fleet, result);
  if (!result.fleet.empty()) {
    serving["value"] = number(result.cost);
    serving["bound"] = result.is_given ? Json() : number(result.cost);
  }
  json["serving"] = std::move(serving);
  json["framework"] = Json();
  if (const auto& any = result.any_framework) {
    const bool front = task.objective == serving::Objective::Front;
    const auto value = [&](Score cost) {
      return front || !(cost > Score{}) ? Json()
                                        : json_number(shown(task.objective, cost.in_base_units()));
    };
    json["framework"] = {{"name", name_of(*task.framework)},
                         {"value_of_any", value(any->best)},
                         {"bound_of_any", value(any->lower_bound)},
                         {"gain", json_number(any->gain)},
                         {"of_any", json_list(result.of_any, one_point)}};
  }
  json["tokens_per_second"] = one ? json_number(result.figures->tokens_per_s) : Json();
  json["top"] = Json::array();
  if (result.status != SearchStatus::Infeasible && !result.is_given) {
    json["top"].push_back(found_json(task, result, false));
    for (const auto& found : result.alternatives) {
      json["top"].push_back(found_json(task, found, false));
    }
  }
  json["top_complete"] = result.alternatives_complete;
  json["infeasible"] = result.status == SearchStatus::Infeasible && !result.is_given
                           ? Json{{"remedies", fleet.models.empty() ? remedies_json(task, result)
                                                                    : fleet_remedies_json(result)}}
                           : Json();
  json["workload"] = fleet.models.empty() ? asked_workload_json(task) : asked_fleet_json(fleet);
  json["pools"] = asked_pools_json(task);
  json["limits"] = asked_limits_json(fleet.models.empty() ? task.limits : serving::Limits{});
  json["search"] = result.is_given ? Json() : search_json(result);
  check_signs(json);
  return json;
}

}  // namespace dfsearch
