#pragma once
// Keys that several kinds of answers have in common (docs/results.md).

#include <cmath>
#include <cstdint>
#include <optional>

#include "base/units.hpp"
#include "base/version.hpp"
#include "engine/search_result.hpp"
#include "graph/workloads/llm/transformer.hpp"
#include "io/result/answer_rows.hpp"
#include "model/evaluate.hpp"
#include "model/machine/network_choices.hpp"
#include "model/mapping.hpp"
#include "model/scope.hpp"

namespace dfsearch {

/// Counts of a model; null for workloads without known counts.
template <>
inline constexpr auto kKeys<ModelCounts> = DFSEARCH_KEYS(ModelCounts, parameters, active_parameters,
                                                         matmul_parameters, training_flop_per_token,
                                                         causal_training_flop_per_token,
                                                         cache_bytes_per_token);

template <>
inline constexpr auto kKeys<Parallelism> = DFSEARCH_KEYS(Parallelism, tensor, pipeline, data);
template <>
inline constexpr auto kKeys<Mapping::Dimension> = DFSEARCH_KEYS(Mapping::Dimension, degree,
                                                                strategy);
inline Parallelism degrees_of(const Mapping& mapping) { return parallelism_of(mapping.network); }
inline constexpr auto kNetworkKeys =
    join(key<Mapping, &degrees_of>("parallelism"), DFSEARCH_KEYS(Mapping, network));
inline constexpr auto kMappingKeys = join(kNetworkKeys, DFSEARCH_KEYS(Mapping, micro_batch, tile));

/// Keys of a partition that do not depend on the mapping.
inline constexpr auto kPartitionKeys =
    join(DFSEARCH_KEYS(PartitionCost, compute, memory, network, time, bound_by, sram, pieces),
         key<PartitionCost, &PartitionCost::flops>("flop"),
         DFSEARCH_KEYS(PartitionCost, memory_bytes, network_bytes, register_bytes));

inline Json proof_json(const SearchStats& stats) {
  return {{"nodes", stats.proof_nodes}, {"time", number(stats.proof_time)}};
}
inline Json pruned_json(const SearchStats& stats) { return {{"bound", stats.pruned_by_bound}}; }
inline constexpr auto kEffortKeys =
    join(DFSEARCH_KEYS(SearchStats, nodes, time), key<SearchStats, &proof_json>("proof"),
         DFSEARCH_KEYS(SearchStats, threads));
inline constexpr auto kIncumbentKeys =
    DFSEARCH_KEYS(SearchStats, incumbents, first_incumbent, best_incumbent);

/// Price and power of the machine, and FLOP/s for each.
template <class Cost>
inline constexpr auto kPriceKeys = DFSEARCH_KEYS(Cost, price, power, cost_efficiency,
                                                 power_efficiency);

inline Json scope_json(const Scope& scope) {
  return json_list(scope, [](const FixedBeforehand& fixed) -> Json { return fixed.name; });
}

/// Puts the tokens per second of all chips, per chip and per dollar of the machine; null if the
/// number of tokens, or for the last one the price, is unknown.
inline void put_rates(Json& json, std::optional<double> tokens, std::int64_t chips, Dollars price) {
  json["tokens_per_second"] = value_json(tokens);
  json["tokens_per_s_per_chip"] =
      tokens ? json_number(*tokens / static_cast<double>(chips)) : Json();
  json["tokens_per_s_per_dollar"] =
      tokens && price > Dollars{} ? json_number(*tokens / price.in_base_units()) : Json();
}

/// The energy of a step and, if it makes `tokens`, of a token; null without energies.
Json energy_json(const std::optional<Energy>& energy, std::optional<double> tokens);

/// Puts the keys `status` to `utilization` of a whole result.
template <class Result>
void put_answer(Json& json, const Result& result) {
  const auto* cost = result.cost ? &*result.cost : nullptr;
  put(json, DFSEARCH_KEYS(Result, status, stopped_by), &result);
  json["scope"] = scope_json(result.scope);
  json["objective_name"] = "step_time";
  json["objective"] = cost != nullptr ? number(cost->step_time) : Json();
  // A given answer has a cost but no bound.
  const bool is_bounded = result.status != SearchStatus::Infeasible && !result.is_given();
  json["lower_bound"] = is_bounded ? number(result.lower_bound) : Json();
  json["gap"] = cost != nullptr && !result.is_given() ? json_number(result.gap) : Json();
  put(json, DFSEARCH_KEYS(std::decay_t<decltype(*cost)>, step_time, utilization), cost);
}

/// An answer in the list `top`, with the keys of put_answer.
template <class Found>
Json ranked_json(const Found& found) {
  const auto* cost = found.cost ? &*found.cost : nullptr;
  Json json = object_json(DFSEARCH_KEYS(Found, status, stopped_by, lower_bound), &found);
  json["gap"] = cost != nullptr ? json_number(found.gap) : Json();
  put(json, DFSEARCH_KEYS(std::decay_t<decltype(*cost)>, step_time, utilization), cost);
  return json;
}

/// The best parallelisms, best first; `put_rest` adds the keys of this kind of answer to each.
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

/// Decimal logarithm of the size of the search space; null if it is not known.
inline Json counted_space(std::optional<double> count) {
  return {{"total", count && *count > 0.0 ? json_number(std::log10(*count)) : Json()}};
}

inline Json search_json(const SearchStats& stats, std::int64_t measured, std::int64_t evaluated) {
  Json json = object_json(kEffortKeys, &stats);
  json["measured"] = measured;
  json["evaluated"] = evaluated;
  put(json, kIncumbentKeys, &stats);
  json["pruned"] = pruned_json(stats);
  return json;
}

}  // namespace dfsearch
