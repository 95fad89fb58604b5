#include "io/result/result_json.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/version.hpp"
#include "engine/names.hpp"
#include "graph/names.hpp"
#include "io/report/budget_reason.hpp"
#include "io/report/infeasible_text.hpp"
#include "io/result/answer_json.hpp"
#include "io/result/answer_signs.hpp"
#include "io/result/asked_json.hpp"
#include "io/result/chip_json.hpp"
#include "io/result/design_json.hpp"
#include "io/result/mapping_json.hpp"
#include "io/result/model_json.hpp"
#include "io/text/json_text.hpp"
#include "model/names.hpp"
#include "model/scope.hpp"
#include "technology/chip.hpp"

namespace dfsearch {
namespace {

/// Kernels of each partition, empty ones left out, with its index.
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
    list.push_back({{"index", groups[p].first},
                    {"kernels", names_json(outcome, groups[p].second)},
                    {"compute", cost != nullptr ? number(cost->compute) : Json()},
                    {"memory", cost != nullptr ? number(cost->memory) : Json()},
                    {"network", cost != nullptr ? number(cost->network) : Json()},
                    {"time", cost != nullptr ? number(cost->time) : Json()},
                    {"bound_by", cost != nullptr ? Json(name_of(cost->bound_by)) : Json()},
                    {"sram", cost != nullptr ? number(cost->sram) : Json()},
                    {"pieces", cost != nullptr ? json_number(cost->pieces) : Json()},
                    {"flop", cost != nullptr ? number(cost->flops) : Json()},
                    {"memory_bytes", cost != nullptr ? number(cost->memory_bytes) : Json()},
                    {"network_bytes", cost != nullptr ? number(cost->network_bytes) : Json()},
                    {"register_bytes", cost != nullptr ? number(cost->register_bytes) : Json()},
                    {"cores", std::move(core_map)},
                    {"dataflow", std::move(dataflow_map)}});
  }
  return list;
}

/// Null unless stages divide the graph.
Json stages_json(const Outcome& outcome) {
  if (outcome.cost == nullptr || outcome.cost->stages.empty()) return {};
  return json_list(outcome.cost->stages, [&](const StageCost& stage) -> Json {
    return {{"kernels", names_json(outcome, stage.kernels)},
            {"work", number(stage.work)},
            {"transfer", number(stage.transfer)},
            {"time", number(stage.time)},
            {"weights", number(stage.weights)},
            {"activations", number(stage.activations)}};
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

/// Budgets that make no chip, or none onto which a mapping fits.
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

Json shares_json(const TimeShares& shares) {
  return {{"compute", shares.compute},
          {"memory", shares.memory},
          {"network", shares.network},
          {"bubble", shares.bubble},
          {"transfer", shares.transfer}};
}

/// The best with nothing fixed beforehand, where that was searched.
Json beyond_json(const SearchResult& search) {
  if (!search.beyond_scope) return {};
  const BestMapping& found = *search.beyond_scope;
  return {{"status", name_of(found.status)},
          {"objective", found.cost ? number(found.cost->objective) : Json()},
          {"lower_bound",
           found.status != SearchStatus::Infeasible ? number(found.lower_bound) : Json()}};
}

/// One of the best parallelisms.
Json ranked_mapping_json(const BestMapping& found) {
  const Cost* cost = found.cost ? &*found.cost : nullptr;
  return {{"status", name_of(found.status)},
          {"stopped_by", stop_json(found.stopped_by)},
          {"objective", cost != nullptr ? number(cost->objective) : Json()},
          {"lower_bound", number(found.lower_bound)},
          {"gap", cost != nullptr ? json_number(found.gap) : Json()},
          {"step_time", cost != nullptr ? number(cost->step_time) : Json()},
          {"utilization", cost != nullptr ? json_number(cost->utilization) : Json()},
          {"parallelism", cost != nullptr ? parallelism_json(*found.mapping) : Json()},
          {"network", cost != nullptr ? network_json(*found.mapping) : Json()},
          {"price", cost != nullptr ? number(cost->price) : Json()},
          {"power", cost != nullptr ? number(cost->power) : Json()}};
}

Json top_json(const SearchResult& search) {
  Json list = Json::array();
  if (search.status == SearchStatus::Infeasible) return list;
  list.push_back(ranked_mapping_json(search));
  for (const BestMapping& found : search.alternatives) list.push_back(ranked_mapping_json(found));
  return list;
}

/// Of the parts that did anything.
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

Json search_json(const SearchResult& search) {
  const SearchStats& stats = search.stats;
  return {
      {"nodes", stats.nodes},
      {"time", number(stats.time)},
      {"proof", {{"nodes", stats.proof_nodes}, {"time", number(stats.proof_time)}}},
      {"threads", stats.threads},
      {"outer_points", stats.outer_points},
      {"ideals", stats.ideals},
      {"incumbents", stats.incumbents},
      {"first_incumbent", number(stats.first_incumbent)},
      {"best_incumbent", number(stats.best_incumbent)},
      {"root_bound", or_null(search.root_bound)},
      {"pruned",
       {{"outer_points", stats.outer_points - stats.outer_points_opened},
        {"bound", stats.pruned_by_bound},
        {"dominance", stats.pruned_by_dominance},
        {"capacity", stats.pruned_by_capacity},
        {"tiles", stats.pruned_by_tiles},
        {"shardings", stats.pruned_by_shardings}}},
      {"memory", {{"used", number(search.memory_used)}, {"limit", number(search.memory_limit)}}},
      {"parts", efforts_json(search.efforts)},
      {"no_bound", search.bounds.dropped()}};
}

/// Powers of ten.
Json space_json(const DesignSpace& space) {
  return {{"shardings", json_number(space.shardings)},
          {"partitions", json_number(space.partitions)},
          {"stages", json_number(space.stages)},
          {"lanes_and_stages", json_number(space.lanes_and_stages)},
          {"total", json_number(space.total())}};
}

/// FLOP for a byte; null where no byte moves.
Json intensity_json(const Cost* cost) {
  const auto or_null = [](double intensity) {
    return intensity > 0.0 ? json_number(intensity) : Json();
  };
  if (cost == nullptr) return {};
  return {{"memory", or_null(cost->memory_intensity)},
          {"network", or_null(cost->network_intensity)}};
}

/// The keys of a Cost, null without one.
void add_cost(Json& result, const Cost* cost) {
  result["objective"] = cost != nullptr ? number(cost->objective) : Json();
  // Set by the caller; here for the order of keys.
  result["lower_bound"] = nullptr;
  result["gap"] = nullptr;
  result["step_time"] = cost != nullptr ? number(cost->step_time) : Json();
  result["utilization"] = cost != nullptr ? json_number(cost->utilization) : Json();
  result["flop"] = cost != nullptr ? number(cost->flops) : Json();
  put_price(result, cost);
  result["operational_intensity"] = intensity_json(cost);
}

/// Null for workloads that nobody waits for.
Json serving_json(const Workload& workload, const Cost* cost) {
  if (cost == nullptr || !cost->serving) return {};
  const Json latency = number(cost->serving->latency);
  const bool decode = workload.serving->decode;
  return {{"time_to_first_token", decode ? Json() : latency},
          {"time_per_output_token", decode ? latency : Json()},
          {"tokens_per_second", json_number(*cost->tokens_per_second)}};
}

}  // namespace

Json answer_json(const Outcome& outcome) {
  const Cost* cost = outcome.cost;
  const Mapping* mapping = outcome.mapping;
  const SearchResult* search = outcome.search;
  Json result = Json::object();
  result["dfsearch"] = kVersion;
  result["status"] = name_of(outcome.status);
  result["stopped_by"] = search != nullptr ? stop_json(search->stopped_by) : Json();
  result["scope"] = scope_json(search != nullptr ? search->scope : Scope{});
  result["beyond_scope"] = search != nullptr ? beyond_json(*search) : Json();
  result["objective_name"] = name_of(outcome.problem->objective);
  add_cost(result, cost);
  if (search != nullptr && outcome.status != SearchStatus::Infeasible) {
    result["lower_bound"] = number(search->lower_bound);
    if (cost != nullptr) result["gap"] = json_number(search->gap);
  }
  put_rates(result, cost != nullptr ? cost->tokens_per_second : std::nullopt,
            outcome.problem->system.chips, cost != nullptr ? cost->price : Dollars{});
  result["serving"] = serving_json(outcome.problem->workload, cost);
  result["model"] = model_json(outcome.problem->workload.counts);
  result["copies"] = outcome.problem->workload.copies;
  result["parallelism"] = mapping != nullptr ? parallelism_json(*mapping) : Json();
  result["network"] = mapping != nullptr ? network_json(*mapping) : Json();
  result["micro_batch"] = mapping != nullptr ? Json(mapping->micro_batch) : Json();
  result["tile"] = mapping != nullptr ? Json(mapping->tile) : Json();
  result["layers_per_stage"] = cost != nullptr ? Json(cost->layers_per_stage) : Json();
  result["bubble_factor"] = cost != nullptr ? json_number(cost->bubble_factor) : Json();
  result["bound_by"] = cost != nullptr ? Json(name_of(cost->shares.largest())) : Json();
  result["time_shares"] = cost != nullptr ? shares_json(cost->shares) : Json();
  result["partitions"] = mapping != nullptr ? partitions_json(outcome) : Json();
  result["stages"] = stages_json(outcome);
  result["sharding"] = mapping != nullptr ? sharding_json(outcome) : Json();
  result["memory"] = {{"weights", cost != nullptr ? number(cost->weights) : Json()},
                      {"activations", cost != nullptr ? number(cost->activations) : Json()},
                      {"stored", cost != nullptr ? number(cost->stored) : Json()},
                      {"second_tier", cost != nullptr ? Json(cost->spilled) : Json()},
                      {"capacity", number(outcome.problem->system.memory_capacity())},
                      {"not_counted", not_counted_in_memory(*outcome.problem)}};
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
  result["search"] = search != nullptr ? search_json(*search) : Json();
  if (search != nullptr) {
    append(result["search"], "space", space_json(design_space(*outcome.problem)));
  }
  if (outcome.split != nullptr) {
    append(result["search"], "splits", json_number(outcome.split->splits));
    append(result["search"], "boxes", outcome.split->boxes);
    append(result["search"], "machines", outcome.split->machines);
  }
  check_signs(result);
  return result;
}

}  // namespace dfsearch
