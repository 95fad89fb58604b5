#include "io/result/chip_json.hpp"

#include "model/names.hpp"
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

Json core_json(const ChipCore& core) {
  return {{"cores", core.cores},
          {"bundles", core.bundles},
          {"voltage", number(core.point.voltage)},
          {"frequency", number(core.point.frequency)},
          {"state", name_of(core.point.limit)},
          {"flops_per_cycle", core.flops_per_cycle},
          {"peak", number(core.peak)},
          {"utilization", core.utilization},
          {"usable", number(core.usable)},
          {"count_held_by", name_of(core.held_by)}};
}

Json levels_json(const std::vector<ChipLevel>& levels) {
  return json_list(levels, [](const ChipLevel& level) -> Json {
    return {{"name", name_of(level.name)},
            {"scope", name_of(level.scope)},
            {"banks", level.banks},
            {"capacity", number(level.capacity)},
            {"share", number(level.share)},
            {"leakage", number(level.leakage)},
            {"raw_bandwidth", number(level.raw_bandwidth)},
            {"bandwidth", number(level.bandwidth)},
            {"latency", number(level.latency)}};
  });
}

Json memory_json(const ChipMemory& memory) {
  return {{"stacks", memory.stacks},
          {"links", memory.links},
          {"edge_links", memory.edge_links},
          {"voltage", number(memory.point.voltage)},
          {"frequency", number(memory.point.frequency)},
          {"state", name_of(memory.point.limit)},
          {"leakage", number(memory.leakage)},
          {"raw_bandwidth", number(memory.raw_bandwidth)},
          {"bandwidth", number(memory.bandwidth)},
          {"capacity", number(memory.capacity)},
          {"latency", number(memory.latency)},
          {"stacks_held_by", name_of(memory.stacks_held_by)},
          {"links_held_by", name_of(memory.links_held_by)}};
}

Json link_json(const ChipLink& link) {
  return {{"wires", link.wires},
          {"voltage", number(link.point.voltage)},
          {"frequency", number(link.point.frequency)},
          {"state", name_of(link.point.limit)},
          {"bandwidth", number(link.bandwidth)},
          {"ports", link.ports},
          {"port_bandwidth", link.ports > 0 ? number(link.port_bandwidth) : Json()},
          {"latency", number(link.latency)},
          {"count_held_by", name_of(link.held_by)}};
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

Json shortages_json(const std::vector<Shortage>& shortages) {
  return json_list(shortages, [](const Shortage& shortage) -> Json {
    return {{"part", name_or_null(shortage.part)},
            {"budget", name_of(shortage.budget)},
            {"needed", json_number(shortage.needed)},
            {"available", json_number(shortage.available)}};
  });
}

}  // namespace

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
          {"levels", levels_json(chip.levels)},
          {"memory", chip.memory ? memory_json(*chip.memory) : Json()},
          {"links", std::move(links)},
          {"power_used", power_json(design.technology, chip)},
          {"system", system_json(chip, system)},
          {"infeasible", shortages_json(chip.infeasible)}};
}

}  // namespace dfsearch
