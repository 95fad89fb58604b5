#include "io/result/result_json.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "io/report/report.hpp"
#include "io/result/answer_json.hpp"
#include "io/result/asked_json.hpp"
#include "io/result/chip_json.hpp"
#include "model/scope.hpp"
#include "technology/chip.hpp"

namespace dfsearch {

template <>
inline constexpr auto kKeys<TimeShares> = DFSEARCH_KEYS(TimeShares, compute, memory, network,
                                                        bubble, transfer);

namespace {

/// Index and kernels of each partition that is not empty.
std::vector<std::pair<std::int64_t, std::vector<KernelId>>> kernels_by_partition(
    const Mapping& mapping) {
  std::vector<KernelId> order;
  for (std::size_t k = 0; k < mapping.partition.size(); ++k) order.emplace_back(k);
  std::stable_sort(order.begin(), order.end(), [&](KernelId a, KernelId b) {
    return mapping.partition[a.index()] < mapping.partition[b.index()];
  });
  std::vector<std::pair<std::int64_t, std::vector<KernelId>>> groups;
  for (const KernelId kernel : order) {
    const std::int64_t index = mapping.partition[kernel.index()];
    if (groups.empty() || groups.back().first != index) groups.push_back({index, {}});
    groups.back().second.push_back(kernel);
  }
  return groups;
}

Json names_json(const Outcome& outcome, const std::vector<KernelId>& kernels) {
  return json_list(kernels, [&](KernelId kernel) {
    return outcome.problem->workload.graph.kernel(kernel).name;
  });
}

Json partitions_json(const Outcome& outcome) {
  const DataflowGraph& graph = outcome.problem->workload.graph;
  const std::vector<CoreGrid>& cores =
      outcome.cost != nullptr ? outcome.cost->cores : outcome.mapping->cores;
  const auto groups = kernels_by_partition(*outcome.mapping);
  Json list = Json::array();
  for (std::size_t p = 0; p < groups.size(); ++p) {
    Json core_map = Json::object();
    Json dataflow_map = Json::object();
    for (std::size_t k = 0; !cores.empty() && k < groups[p].second.size(); ++k) {
      const KernelId kernel = groups[p].second[k];
      const CoreGrid& grid = cores[kernel.index()];
      append(core_map, graph.kernel(kernel).name, Json::array({grid.lanes, grid.stages}));
    }
    const PartitionCost* cost = outcome.cost != nullptr ? &outcome.cost->partitions[p] : nullptr;
    for (std::size_t i = 0; cost != nullptr && i < cost->dataflows.size(); ++i) {
      if (!cost->dataflows[i]) continue;
      append(dataflow_map, graph.kernel(cost->kernels[i]).name, name_of(*cost->dataflows[i]));
    }
    Json json = {{"index", groups[p].first}, {"kernels", names_json(outcome, groups[p].second)}};
    put(json, kPartitionKeys, cost);
    json["cores"] = std::move(core_map);
    json["dataflow"] = std::move(dataflow_map);
    list.push_back(std::move(json));
  }
  return list;
}

/// Null unless stages divide the graph.
Json stages_json(const Outcome& outcome) {
  if (outcome.cost == nullptr || outcome.cost->stages.empty()) return {};
  return json_list(outcome.cost->stages, [&](const StageCost& stage) {
    Json json = {{"kernels", names_json(outcome, stage.kernels)}};
    put(json, DFSEARCH_KEYS(StageCost, work, transfer, time, weights, activations), &stage);
    return json;
  });
}

Json sharding_json(const Outcome& outcome) {
  Json object = Json::object();
  for (std::size_t k = 0; k < outcome.mapping->sharding.size(); ++k) {
    append(object, outcome.problem->workload.graph.kernels()[k].name,
           name_of(outcome.mapping->sharding[k]));
  }
  return object;
}

Json changes_json(const std::vector<FeasibleChange>& changes) {
  return json_list(changes, [](const FeasibleChange& change) -> Json {
    const bool degree = change.what == Raised::Degree;
    return {{"raise", name_of(change.what)},
            {"dimension", degree ? Json(change.dimension) : Json()},
            {"from", json_number(change.from)},
            {"at_least", json_number(change.at_least)},
            {"enough", json_number(change.enough)}};
  });
}

/// The shortage of budgets with which no chip can be built or no mapping fits.
Json lack_json(const std::string& text, const Shortage* shortage) {
  const bool has_part = shortage != nullptr && shortage->part;
  return {{"resource", "budget"},
          {"needed", shortage != nullptr ? json_number(shortage->needed) : Json()},
          {"available", shortage != nullptr ? json_number(shortage->available) : Json()},
          {"where", has_part ? Json(name_of(*shortage->part)) : Json()},
          {"text", text},
          {"changes", Json()},
          {"changes_complete", Json()}};
}

Json infeasible_json(const Outcome& outcome) {
  if (const std::string text = budget_reason(outcome); !text.empty()) {
    const std::vector<Shortage>& shortages = shortages_of(outcome);
    return lack_json(text, shortages.empty() ? nullptr : &shortages.front());
  }
  if (outcome.infeasible == nullptr) return {};
  const Infeasible& reason = *outcome.infeasible;
  return {
      {"resource", name_of(reason.resource)},
      {"needed", json_number(reason.needed)},
      {"available", json_number(reason.available)},
      {"where", reason.where},
      {"text", infeasible_text(*outcome.problem, reason)},
      {"changes", outcome.search != nullptr ? changes_json(outcome.search->changes) : Json()},
      {"changes_complete", outcome.search != nullptr ? Json(outcome.search->explained) : Json()}};
}

/// The best mapping with nothing fixed beforehand, if that was searched.
Json beyond_json(const SearchResult& search) {
  if (!search.beyond_scope) return {};
  const BestMapping& found = *search.beyond_scope;
  return {{"status", name_of(found.status)},
          {"objective", found.cost ? number(found.cost->objective) : Json()},
          {"lower_bound",
           found.status != SearchStatus::Infeasible ? number(found.lower_bound) : Json()}};
}

/// JSON of one answer in `top`.
Json ranked_mapping_json(const BestMapping& found) {
  const Cost* cost = found.cost ? &*found.cost : nullptr;
  Json json = object_json(DFSEARCH_KEYS(BestMapping, status, stopped_by), &found);
  put(json, DFSEARCH_KEYS(Cost, objective), cost);
  json["lower_bound"] = number(found.lower_bound);
  json["gap"] = cost != nullptr ? json_number(found.gap) : Json();
  put(json, DFSEARCH_KEYS(Cost, step_time, utilization), cost);
  put(json, kNetworkKeys, cost != nullptr ? &*found.mapping : nullptr);
  put(json, DFSEARCH_KEYS(Cost, price, power), cost);
  return json;
}

Json top_json(const SearchResult& search) {
  Json list = Json::array();
  if (search.status == SearchStatus::Infeasible) return list;
  list.push_back(ranked_mapping_json(search));
  for (const BestMapping& found : search.alternatives) list.push_back(ranked_mapping_json(found));
  return list;
}

/// Effort of the parts that were called.
Json efforts_json(const Efforts& efforts) {
  Json json = Json::object();
  for (const SearchBoundName& part : kSearchBounds) {
    const Effort& effort = efforts[static_cast<std::size_t>(part.bound)];
    if (effort.calls == 0) continue;
    json[std::string(part.name)] = {{"calls", effort.calls},
                                    {"time", number(effort.time)},
                                    {std::string(part.finds), effort.finds}};
  }
  return json;
}

std::int64_t closed_points(const SearchStats& stats) { return stats.outer_points_closed(); }
constexpr auto kPrunedKeys = join(key<SearchStats, &closed_points>("outer_points"),
                                  key<SearchStats, &SearchStats::pruned_by_bound>("bound"),
                                  key<SearchStats, &SearchStats::pruned_by_dominance>("dominance"),
                                  key<SearchStats, &SearchStats::pruned_by_capacity>("capacity"),
                                  key<SearchStats, &SearchStats::pruned_by_tiles>("tiles"),
                                  key<SearchStats, &SearchStats::pruned_by_shardings>("shardings"));

Json search_json(const SearchResult& search, const DesignSpace& space) {
  Json json = object_json(
      join(kEffortKeys, DFSEARCH_KEYS(SearchStats, outer_points, ideals), kIncumbentKeys),
      &search.stats);
  json["root_bound"] = value_json(search.root_bound);
  json["pruned"] = object_json(kPrunedKeys, &search.stats);
  json["memory"] = {{"used", number(search.memory_used)}, {"limit", number(search.memory_limit)}};
  json["parts"] = efforts_json(search.efforts);
  json["no_bound"] = search.bounds.dropped();
  json["space"] = object_json(
      DFSEARCH_KEYS(DesignSpace, shardings, partitions, stages, lanes_and_stages, total), &space);
  return json;
}

/// FLOP per byte; null if no byte moves.
Json intensity_json(const Cost& cost) {
  const auto or_null = [](double intensity) {
    return intensity > 0.0 ? json_number(intensity) : Json();
  };
  return {{"memory", or_null(cost.memory_intensity)}, {"network", or_null(cost.network_intensity)}};
}

Json energy_of_cost(const Cost& cost) {
  std::optional<double> tokens;
  if (cost.tokens_per_second) tokens = *cost.tokens_per_second * cost.step_time.in_base_units();
  return energy_json(cost.energy, tokens);
}

StepBound bound_by(const Cost& cost) { return cost.shares.largest(); }

/// Figures of serving; null for other workloads.
Json serving_json(const Workload& workload, const Cost* cost) {
  if (cost == nullptr || !cost->serving) return {};
  const Json latency = number(cost->serving->latency);
  const bool decode = workload.serving->decode;
  return {{"time_to_first_token", decode ? Json() : latency},
          {"time_per_output_token", decode ? latency : Json()},
          {"tokens_per_second", json_number(*cost->tokens_per_second)}};
}

}  // namespace

Json energy_json(const std::optional<Energy>& energy, std::optional<double> tokens) {
  if (!energy) return {};
  Json json = object_json(
      join(DFSEARCH_KEYS(Energy, clock, time), key<Energy, &Energy::idle>("static")), &*energy);
  put(json, DFSEARCH_KEYS(EnergyWork, math, memory, links), &energy->work);
  json["joules"] = number(energy->sum());
  json["watts"] = number(energy->power());
  json["edp"] = json_number(energy->product());
  json["joules_per_token"] = tokens ? json_number(energy->sum().in_base_units() / *tokens) : Json();
  return json;
}

Json decisions_json(const Mapping& mapping) { return object_json(kMappingKeys, &mapping); }

Json answer_json(const Outcome& outcome) {
  const Cost* cost = outcome.cost;
  const Mapping* mapping = outcome.mapping;
  const SearchResult* search = outcome.search;
  Json result = Json::object();
  result["dfsearch"] = kVersion;
  result["status"] = name_of(outcome.status);
  put(result, DFSEARCH_KEYS(SearchResult, stopped_by), search);
  result["scope"] = scope_json(search != nullptr ? search->scope : Scope{});
  result["beyond_scope"] = search != nullptr ? beyond_json(*search) : Json();
  result["objective_name"] = name_of(outcome.problem->objective);
  put(result, DFSEARCH_KEYS(Cost, objective), cost);
  const bool is_bounded = search != nullptr && outcome.status != SearchStatus::Infeasible;
  result["lower_bound"] = is_bounded ? number(search->lower_bound) : Json();
  result["gap"] = is_bounded && cost != nullptr ? json_number(search->gap) : Json();
  put(result,
      join(DFSEARCH_KEYS(Cost, step_time, utilization), key<Cost, &Cost::flops>("flop"),
           kPriceKeys<Cost>, key<Cost, &energy_of_cost>("energy"),
           key<Cost, &intensity_json>("operational_intensity")),
      cost);
  put_rates(result, cost != nullptr ? cost->tokens_per_second : std::nullopt,
            outcome.problem->system.chips, cost != nullptr ? cost->price : Dollars{});
  result["serving"] = serving_json(outcome.problem->workload, cost);
  result["model"] = value_json(outcome.problem->workload.counts);
  result["copies"] = outcome.problem->workload.copies;
  put(result, kMappingKeys, mapping);
  put(result,
      join(DFSEARCH_KEYS(Cost, layers_per_stage, bubble_factor), key<Cost, &bound_by>("bound_by"),
           key<Cost, &Cost::shares>("time_shares")),
      cost);
  result["partitions"] = mapping != nullptr ? partitions_json(outcome) : Json();
  result["stages"] = stages_json(outcome);
  result["sharding"] = mapping != nullptr ? sharding_json(outcome) : Json();
  Json& memory = result["memory"] = Json::object();
  put(memory,
      join(DFSEARCH_KEYS(Cost, weights, activations, stored),
           key<Cost, &Cost::spilled>("second_tier")),
      cost);
  memory["capacity"] = number(outcome.problem->system.memory_capacity());
  memory["not_counted"] = not_counted_in_memory(*outcome.problem);
  result["top"] = search != nullptr ? top_json(*search) : Json();
  result["top_complete"] = search != nullptr ? Json(search->alternatives_complete) : Json();
  result["infeasible"] = infeasible_json(outcome);
  result["chip"] = outcome.chip != nullptr
                       ? chip_json(*outcome.design, *outcome.chip, outcome.problem->system)
                       : Json();
  const bool is_split = outcome.chip != nullptr &&
                        open_shares(outcome.design->budget, outcome.design->technology).any();
  result["split"] = is_split ? split_json(*outcome.design, *outcome.chip) : Json();
  result["best_splits"] =
      outcome.split != nullptr ? best_splits_json(*outcome.design, *outcome.split) : Json();
  result["gains"] = outcome.split != nullptr ? gains_json(*outcome.split) : Json();
  result["workload"] = asked_workload_json(outcome.problem->workload);
  result["machine"] = asked_machine_json(outcome.problem->system);
  result["graph"] = asked_graph_json(outcome.problem->workload);
  result["search"] =
      search != nullptr ? search_json(*search, design_space(*outcome.problem)) : Json();
  if (outcome.split != nullptr) {
    put(result["search"], DFSEARCH_KEYS(DesignResult, splits, boxes, machines), outcome.split);
  }
  check_signs(result);
  return result;
}

}  // namespace dfsearch
