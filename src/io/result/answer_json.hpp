#pragma once
// What the JSON of all searches has in common, most of it that of both searches over whole steps,
// for executions of Calculon's model and for plans of training steps (docs/results.md).

#include <cmath>
#include <cstdint>
#include <optional>

#include "base/units.hpp"
#include "engine/names.hpp"
#include "engine/search_result.hpp"
#include "io/schema/write_schema.hpp"
#include "io/text/json_text.hpp"
#include "io/text/offload_names.hpp"
#include "model/scope.hpp"

namespace dfsearch {

/// The names of what was fixed beforehand.
inline Json scope_json(const Scope& scope) {
  return json_list(scope, [](const FixedBeforehand& fixed) -> Json { return fixed.name; });
}

inline Json stop_json(StopReason reason) {
  return reason != StopReason::None ? Json(name_of(reason)) : Json();
}

/// A list of words.
inline Json offload_json(const Offload& offload) {
  return written(TypeOf<Offload>::type, &offload);
}

/// Puts what the machine costs and draws; `cost` is null where nothing was found.
template <class Cost>
void put_price(Json& json, const Cost* cost) {
  json["price"] = cost != nullptr ? number(cost->price) : Json();
  json["power"] = cost != nullptr ? number(cost->power) : Json();
  json["cost_efficiency"] = cost != nullptr ? number(cost->cost_efficiency) : Json();
  json["power_efficiency"] = cost != nullptr ? number(cost->power_efficiency) : Json();
}

/// Puts the tokens a second of all chips, of one and for a dollar of the machine; null where none are
/// known or nothing has a price.
inline void put_rates(Json& json, std::optional<double> tokens, std::int64_t chips, Dollars price) {
  json["tokens_per_second"] = tokens ? json_number(*tokens) : Json();
  json["tokens_per_s_per_chip"] =
      tokens ? json_number(*tokens / static_cast<double>(chips)) : Json();
  json["tokens_per_s_per_dollar"] =
      tokens && price > Dollars{} ? json_number(*tokens / price.in_base_units()) : Json();
}

/// Puts the keys `status` to `utilization` of a whole result.
template <class Result>
void put_answer(Json& json, const Result& result) {
  const auto* cost = result.cost ? &*result.cost : nullptr;
  json["status"] = name_of(result.status);
  json["stopped_by"] = stop_json(result.stopped_by);
  json["scope"] = scope_json(result.scope);
  json["objective_name"] = "step_time";
  json["objective"] = cost != nullptr ? number(cost->step_time) : Json();
  // Nothing is known of what was given but its cost.
  const bool is_bounded = result.status != SearchStatus::Infeasible && !result.is_given();
  json["lower_bound"] = is_bounded ? number(result.lower_bound) : Json();
  json["gap"] = cost != nullptr && !result.is_given() ? json_number(result.gap) : Json();
  json["step_time"] = json["objective"];
  json["utilization"] = cost != nullptr ? json_number(cost->utilization) : Json();
}

/// The same of an answer in `top`.
template <class Found>
Json ranked_json(const Found& found) {
  const auto* cost = found.cost ? &*found.cost : nullptr;
  return {{"status", name_of(found.status)},
          {"stopped_by", stop_json(found.stopped_by)},
          {"lower_bound", number(found.lower_bound)},
          {"gap", cost != nullptr ? json_number(found.gap) : Json()},
          {"step_time", cost != nullptr ? number(cost->step_time) : Json()},
          {"utilization", cost != nullptr ? json_number(cost->utilization) : Json()}};
}

/// The best parallelisms, best first; `put_rest` adds to each what its kind of answer has.
template <class Result, class PutRest>
Json top_json(const Result& result, const PutRest& put_rest) {
  Json list = Json::array();
  if (result.status == SearchStatus::Infeasible) return list;
  const auto put = [&](const auto& found) {
    Json json = ranked_json(found);
    put_rest(json, found);
    list.push_back(std::move(json));
  };
  put(result);
  for (const auto& found : result.alternatives) put(found);
  return list;
}

/// How many answers there are to choose from, in powers of ten; null if that is not known.
inline Json counted_space(std::optional<double> count) {
  return {{"total", count && *count > 0.0 ? json_number(std::log10(*count)) : Json()}};
}

/// What it took to find.
inline Json search_json(const SearchStats& stats, std::int64_t measured, std::int64_t evaluated) {
  return {{"nodes", stats.nodes},
          {"time", number(stats.time)},
          {"proof", {{"nodes", stats.proof_nodes}, {"time", number(stats.proof_time)}}},
          {"threads", stats.threads},
          {"measured", measured},
          {"evaluated", evaluated},
          {"incumbents", stats.incumbents},
          {"first_incumbent", number(stats.first_incumbent)},
          {"best_incumbent", number(stats.best_incumbent)},
          {"pruned", {{"bound", stats.pruned_by_bound}}}};
}

}  // namespace dfsearch
