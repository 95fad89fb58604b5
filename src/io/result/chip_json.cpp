#include "io/result/chip_json.hpp"

#include "io/result/answer_rows.hpp"
#include "technology/chip.hpp"

namespace dfsearch {
namespace {

Json budget_json(const ChipDesign& design, const Split& split) {
  const Budget& budget = design.budget;
  return {{"die", number(budget.die)},
          {"package", number(budget.package)},
          {"total", number(budget.total)},
          {"perimeter", number(budget.perimeter())},
          {"area", sum_of(split.area) / budget.die},
          {"power", sum_of(split.power) / budget.total},
          {"edge", sum_of(split.edge) / budget.perimeter()}};
}

constexpr auto kPointKeys = join(DFSEARCH_KEYS(OperatingPoint, voltage, frequency),
                                 key<OperatingPoint, &OperatingPoint::limit>("state"));

/// Puts the operating point of a part.
template <class Part>
Json part_json(const Part& part, AnswerRows before, AnswerRows after) {
  Json json = object_json(before, &part);
  put(json, kPointKeys, &part.point);
  put(json, after, &part);
  return json;
}

Json core_json(const ChipCore& core) {
  return part_json(core, DFSEARCH_KEYS(ChipCore, cores, bundles),
                   join(DFSEARCH_KEYS(ChipCore, flops_per_cycle, peak, utilization, usable),
                        key<ChipCore, &ChipCore::held_by>("count_held_by")));
}

Json memory_json(const ChipMemory& memory) {
  return part_json(memory, DFSEARCH_KEYS(ChipMemory, stacks, links, edge_links),
                   DFSEARCH_KEYS(ChipMemory, leakage, raw_bandwidth, bandwidth, capacity, latency,
                                 stacks_held_by, links_held_by));
}

std::optional<BytesPerSecond> port_bandwidth(const ChipLink& link) {
  return link.ports > 0 ? std::optional(link.port_bandwidth) : std::nullopt;
}
Json link_json(const ChipLink& link) {
  return part_json(
      link, DFSEARCH_KEYS(ChipLink, wires),
      join(DFSEARCH_KEYS(ChipLink, bandwidth, ports),
           key<ChipLink, &port_bandwidth>("port_bandwidth"), DFSEARCH_KEYS(ChipLink, latency),
           key<ChipLink, &ChipLink::held_by>("count_held_by")));
}

Json power_json(const Technology& technology, const Chip& chip) {
  Json powers = Json::object();
  const auto add = [&](Component part) {
    append(powers, name_of(part), or_null(chip.power[part]));
  };
  add(Component::Core);
  for (const ChipLevel& level : chip.levels) add(component_of(level.name));
  if (technology.memory) add(Component::Memory);
  for (const auto& link : chip.links) {
    if (link) add(component_of(link->kind));
  }
  return powers;
}

Json system_json(const Chip& chip, const Machine& system) {
  Json network = json_list(system.network, [](const NetworkDimension& dimension) {
    return number(dimension.bandwidth);
  });
  const Accelerator& accelerator = system.accelerator;
  return {{"accelerator",
           {{"cores", accelerator.cores},
            {"lanes", accelerator.lanes},
            {"stages", accelerator.stages},
            {"frequency", number(accelerator.frequency)},
            {"sram", number(accelerator.sram)}}},
          {"compute_utilization", chip.core.utilization},
          {"memory",
           {{"bandwidth", number(system.memory[0].bandwidth)},
            {"capacity", number(system.memory[0].capacity)}}},
          {"network", std::move(network)}};
}

const char* effect_of(const BudgetGain& gain) {
  switch (gain.known) {
    case WhatIf::Known:
      if (gain.change == 0.0) return "same";
      return gain.change < 0.0 ? "faster" : "slower";
    case WhatIf::NoChip:
      return "no_chip";
    case WhatIf::NoMapping:
      return "no_mapping";
    case WhatIf::Unknown:
      return "unknown";
  }
  return "";
}

/// The step time; nothing if it is not known.
std::optional<Score> step_time_of(const BudgetGain& gain) {
  return gain.known == WhatIf::Known ? std::optional(gain.objective) : std::nullopt;
}
std::optional<double> change_of(const BudgetGain& gain) {
  return gain.known == WhatIf::Known ? std::optional(gain.change) : std::nullopt;
}

}  // namespace

template <>
inline constexpr auto kKeys<ChipLevel> = DFSEARCH_KEYS(ChipLevel, name, scope, banks, capacity,
                                                       share, leakage, raw_bandwidth, bandwidth,
                                                       latency);
template <>
inline constexpr auto kKeys<Shortage> = DFSEARCH_KEYS(Shortage, part, budget, needed, available);

Json split_json(const ChipDesign& design, const Chip& chip) {
  const Budget& budget = design.budget;
  const OpenShares open = open_shares(budget, design.technology);
  Json split = {{"area", Json::object()}, {"power", Json::object()}, {"edge", Json::object()}};
  for (const Component part : kComponents) {
    const char* name = name_of(part);
    if (open.area[part]) append(split["area"], name, chip.split.area[part] / budget.die);
    if (open.power[part]) append(split["power"], name, chip.split.power[part] / budget.total);
    if (open.edge[part]) append(split["edge"], name, chip.split.edge[part] / budget.perimeter());
  }
  return split;
}

Json chip_json(const ChipDesign& design, const Chip& chip, const Machine& system) {
  Json links = Json::object();
  for (const auto& link : chip.links) {
    if (link) append(links, name_of(link->kind), link_json(*link));
  }
  return {{"budget", budget_json(design, chip.split)},
          {"core", core_json(chip.core)},
          {"levels", value_json(chip.levels)},
          {"memory", chip.memory ? memory_json(*chip.memory) : Json()},
          {"links", std::move(links)},
          {"power_used", power_json(design.technology, chip)},
          {"system", system_json(chip, system)},
          {"infeasible", value_json(chip.infeasible)}};
}

Json best_splits_json(const ChipDesign& design, const DesignResult& result) {
  return json_list(result.best, [&](const FoundSplit& found) {
    Json json = object_json(DFSEARCH_KEYS(FoundSplit, status, stopped_by), &found);
    json["objective"] = found.chip ? number(found.objective) : Json();
    const bool is_bounded = found.status != SearchStatus::Infeasible;
    json["lower_bound"] = is_bounded ? number(found.lower_bound) : Json();
    json["split"] = found.chip ? split_json(design, *found.chip) : Json();
    return json;
  });
}

Json gains_json(const DesignResult& result) {
  constexpr auto kGainKeys =
      join(DFSEARCH_KEYS(BudgetGain, budget, part, searched, has, more),
           key<BudgetGain, &effect_of>("effect"), key<BudgetGain, &step_time_of>("step_time"),
           key<BudgetGain, &change_of>("change"));
  return json_list(result.gains,
                   [&](const BudgetGain& gain) { return object_json(kGainKeys, &gain); });
}

}  // namespace dfsearch
