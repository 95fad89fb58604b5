#include "io/report/report_parts.hpp"

#include <algorithm>
#include <cmath>

#include "io/text/joined.hpp"
#include "io/text/text_table.hpp"

namespace dfsearch {
namespace {

/// The limit of a number: a budget or a given value.
std::string held(CountLimit limit) {
  return limit == CountLimit::Given ? "(given)" : fmt::format("(held by {})", name_of(limit));
}

std::string speed_text(const OperatingPoint& point) {
  if (point.limit == SpeedLimit::Given) return to_text(point.frequency) + " (given)";
  return fmt::format("{} at {}, held by {}", to_text(point.frequency), to_text(point.voltage),
                     name_of(point.limit));
}

std::string core_text(const ChipCore& core) {
  return fmt::format("{} in {} (held by {}); {}; peak {}, usable {}", plural(core.cores, "core"),
                     plural(core.bundles, "bundle"), name_of(core.held_by), speed_text(core.point),
                     to_text(core.peak), to_text(core.usable));
}

std::string level_text(const ChipLevel& level) {
  const char* given_capacity = level.given_capacity ? "given" : "held by area";
  const char* given_bandwidth = level.given_bandwidth ? "given" : "held by power";
  return fmt::format("{}: {} a {} ({}); {} ({})", plural(level.banks, "bank"), to_text(level.share),
                     name_of(level.scope), given_capacity, to_text(level.bandwidth),
                     given_bandwidth);
}

std::string memory_text(const ChipMemory& memory) {
  const bool given = memory.point.limit == SpeedLimit::Given;
  return fmt::format("{} {}: {}; {} links {}; {}{}", plural(memory.stacks, "stack"),
                     held(memory.stacks_held_by), to_text(memory.capacity), memory.links,
                     held(memory.links_held_by), given ? "" : speed_text(memory.point) + "; ",
                     to_text(memory.bandwidth) + (given ? " (given)" : ""));
}

std::string link_text(const ChipLink& link) {
  std::string text =
      fmt::format("{} (held by {}); {}; {}", plural(link.wires, "wire"), name_of(link.held_by),
                  speed_text(link.point), to_text(link.bandwidth));
  if (link.ports > 0) {
    text += fmt::format(", {}: {} each", plural(link.ports, "port"), to_text(link.port_bandwidth));
  }
  return text;
}

std::string dimension_yaml(const NetworkDimension& dimension) {
  std::string text = fmt::format("    - {{topology: {}", name_of(dimension.topology));
  if (dimension.degree) text += fmt::format(", degree: {}", *dimension.degree);
  text += fmt::format(", bandwidth: {}", to_exact_text(dimension.bandwidth));
  if (dimension.latency > Seconds{}) {
    text += fmt::format(", latency: {}", to_exact_text(dimension.latency));
  }
  if (dimension.strategy) text += fmt::format(", strategy: {}", name_of(*dimension.strategy));
  return text + "}\n";
}

std::string memory_yaml(const Machine& machine) {
  const MemoryTier& memory = machine.memory[0];
  std::string text = fmt::format("  memory: {{bandwidth: {}", to_exact_text(memory.bandwidth));
  if (memory.capacity < Bytes::infinity()) {
    text += fmt::format(", capacity: {}", to_exact_text(memory.capacity));
  }
  if (memory.latency > Seconds{}) {
    text += fmt::format(", latency: {}", to_exact_text(memory.latency));
  }
  if (const MemoryTier* second = machine.second_memory()) {
    text += fmt::format(", second: {{bandwidth: {}, capacity: {}}}",
                        to_exact_text(second->bandwidth), to_exact_text(second->capacity));
  }
  return text + "}\n";
}

}  // namespace

Sheet chip_table(const ChipDesign& design, const Chip& chip, const Machine& system) {
  const Budget& budget = design.budget;
  Sheet text = labelled(
      "budget",
      fmt::format("die {} of a package of {}, {}, edge {}; used: area {}, power {}, "
                  "edge {}",
                  to_text(budget.die), to_text(budget.package), to_text(budget.total),
                  to_text(budget.perimeter()), percent(sum_of(chip.split.area) / budget.die),
                  percent(sum_of(chip.split.power) / budget.total),
                  percent(sum_of(chip.split.edge) / budget.perimeter())));
  text += labelled("chip",
                   fmt::format("{}, {} SRAM, {} of memory at {}, draws {}", to_text(chip.core.peak),
                               to_text(system.accelerator.sram), to_text(system.memory[0].capacity),
                               to_text(system.memory[0].bandwidth), to_text(chip.drawn())));
  TextTable table({"part", "area", "edge", "power", "drawn", "what that gives"});
  const auto add = [&](Component part, const std::string& what) {
    table.add({name_of(part), to_text(chip.split.area[part]),
               has_edge(part) ? to_text(chip.split.edge[part]) : "",
               to_small_text(chip.split.power[part]),
               chip.power[part] ? to_small_text(*chip.power[part]) : "not known"},
              words_of(what));
  };
  add(Component::Core, core_text(chip.core));
  for (const ChipLevel& level : chip.levels) add(component_of(level.name), level_text(level));
  if (chip.memory) add(Component::Memory, memory_text(*chip.memory));
  for (const auto& link : chip.links) {
    if (link) add(component_of(link->kind), link_text(*link));
  }
  return text + table.text() + "\n" + budget_bars(design, chip) + shortage_lines(chip);
}

std::string shortage_text(const Shortage& shortage) {
  const auto amount = [&](double value) {
    if (shortage.budget == BudgetClass::Power) return to_small_text(Watts(value));
    if (shortage.budget == BudgetClass::Edge) return to_text(Length(value));
    return to_text(Area(value));
  };
  const double by = std::abs(shortage.needed - shortage.available);
  if (!shortage.part) {
    return fmt::format("{}: all parts take {}, expected at most {}: {} too much",
                       name_of(shortage.budget), amount(shortage.needed),
                       amount(shortage.available), amount(by));
  }
  const char* part = name_of(*shortage.part);
  if (shortage.budget == BudgetClass::Package) {
    return fmt::format(
        "{}: the die leaves {} of the package, expected at least {} for a stack: "
        "{} too little",
        part, amount(shortage.available), amount(shortage.needed), amount(by));
  }
  const std::string text =
      fmt::format("{}: has {} of the {}, expected {} {}", part, amount(shortage.available),
                  name_of(shortage.budget), shortage.more_than ? "more than" : "at least",
                  amount(shortage.needed));
  return by > 0.0 ? text + fmt::format(": {} too little", amount(by)) : text;
}

Sheet shortage_lines(const Chip& chip) {
  Sheet text;
  for (const Shortage& shortage : chip.infeasible) {
    text += labelled("no chip", shortage_text(shortage));
  }
  return text;
}

std::string system_yaml(const ChipDesign& design, const Chip& chip, const Machine& system) {
  const Accelerator& accelerator = system.accelerator;
  std::string text = "system:\n";
  text += fmt::format("  chips: {}\n", system.chips);
  text += fmt::format(
      "  accelerator: {{cores: {}, lanes: {}, stages: {}, bundle: {}, frequency: {}, sram: {}}}\n",
      accelerator.cores, accelerator.lanes, accelerator.stages, design.technology.core.bundle,
      to_exact_text(accelerator.frequency), to_exact_text(accelerator.sram));
  std::string levels;
  for (const ChipLevel& level : chip.levels) {
    if (!(level.capacity > Bytes{})) continue;
    levels += fmt::format("    {}: {{scope: {}, capacity: {}, bandwidth: {}, latency: {}}}\n",
                          name_of(level.name), name_of(level.scope), to_exact_text(level.capacity),
                          to_exact_text(level.bandwidth), to_exact_text(level.latency));
  }
  if (!levels.empty()) text += "  levels:\n" + levels;
  text += memory_yaml(system);
  if (!system.network.empty()) text += "  network:\n";
  for (const NetworkDimension& dimension : system.network) text += dimension_yaml(dimension);
  if (const auto utilization = design.technology.core.utilization) {
    text += fmt::format("execution: {{compute_utilization: {}}}\n", to_exact_text(*utilization));
  }
  return text;
}

namespace {

char letter_of(CountLimit limit) {
  switch (limit) {
    case CountLimit::DieArea:
      return 'A';
    case CountLimit::Package:
      return 'K';
    case CountLimit::Edge:
      return 'E';
    case CountLimit::Stack:
      return 'S';
    case CountLimit::Given:
      return 'G';
  }
  return ' ';
}

char letter_of(SpeedLimit limit) {
  switch (limit) {
    case SpeedLimit::Power:
      return 'P';
    case SpeedLimit::MinimumVoltage:
      return 'v';
    case SpeedLimit::MaximumVoltage:
      return 'V';
    case SpeedLimit::Given:
      return 'G';
  }
  return ' ';
}

/// Limits of the number and the speed of cores, of the wires of the memory and of links.
std::string held_by(const Chip& chip) {
  std::string text{letter_of(chip.core.held_by), letter_of(chip.core.point.limit)};
  const auto add = [&](CountLimit count, SpeedLimit speed) {
    text += ' ';
    text += letter_of(count);
    text += letter_of(speed);
  };
  if (chip.memory) {
    const CountLimit wires = chip.memory->links_held_by;
    // If stacks run out of wires, the limit of the stacks is shown.
    add(wires == CountLimit::Stack ? chip.memory->stacks_held_by : wires, chip.memory->point.limit);
  } else {
    text += " --";
  }
  for (const auto& link : chip.links) {
    if (link && link->ports > 0) add(link->held_by, link->point.limit);
  }
  return text;
}

/// The bandwidth of a port of each kind of link that the network has.
std::string ports_text(const Chip& chip) {
  const std::string text = joined(chip.links, ", ", [](const auto& link) {
    return link && link->ports > 0 ? to_text(link->port_bandwidth) : "";
  });
  return text.empty() ? "-" : text;
}

std::vector<std::string> cells_of(const ListedChip& listed) {
  const Chip& chip = *listed.chip;
  if (!chip.infeasible.empty()) return {listed.name, "-", "-", "-", "-", "-", "-", "-"};
  const Machine& system = *listed.system;
  return {listed.name,
          std::to_string(chip.core.cores),
          to_text(chip.core.point.frequency),
          to_text(chip.core.peak),
          to_text(system.accelerator.sram),
          to_text(system.memory[0].capacity),
          to_text(system.memory[0].bandwidth),
          ports_text(chip)};
}

}  // namespace

std::string chip_list(const std::vector<ListedChip>& chips) {
  TextTable table(
      {"chip", "cores", "frequency", "peak", "SRAM", "memory", "bandwidth", "a port", "held by"});
  Sheet reasons;
  for (const ListedChip& listed : chips) {
    const bool there = listed.chip->infeasible.empty();
    table.add(cells_of(listed), {there ? held_by(*listed.chip) : "no chip"});
    for (const Shortage& shortage : listed.chip->infeasible) {
      reasons += labelled("no chip", listed.name + ": " + shortage_text(shortage));
    }
  }
  reasons += labelled("held by",
                      "two letters for what limits cores, wires of the memory and links: first "
                      "their number (A area, E edge, K package), then their speed (P power, v "
                      "least voltage, V greatest voltage); G given");
  return table.text() + text_of(reasons);
}

namespace {

constexpr double kBar = 20.0;  // columns of a whole budget

/// A bar for a share; a share that is too small for a mark is a dot.
std::string bar(double share) {
  const double marks = std::round(kBar * std::clamp(share, 0.0, 1.0));
  if (marks < 1.0) return share > 0.0 ? "." : "";
  return std::string(static_cast<std::size_t>(marks), '#');
}

std::string cell(double share) {
  return fmt::format("  {:>6} {:<{}}", fmt::format("{:.1f} %", 100.0 * share), bar(share),
                     static_cast<int>(kBar));
}

std::string row(std::string line) {
  while (line.back() == ' ') line.pop_back();
  return line + "\n";
}

std::string amount_text(BudgetClass budget, double amount) {
  if (budget == BudgetClass::Power) return to_small_text(Watts(amount));
  if (budget == BudgetClass::Edge) return to_text(Length(amount));
  return to_text(Area(amount));
}

const char* part_name(const BudgetGain& gain) { return gain.part ? name_of(*gain.part) : "-"; }

std::string change_text(double change) {
  if (change == 0.0) return "no change";
  return fmt::format("{:.3g} % {}", 100.0 * std::abs(change), change < 0.0 ? "faster" : "slower");
}

std::string effect_text(const BudgetGain& gain) {
  switch (gain.known) {
    case WhatIf::Known:
      return change_text(gain.change);
    case WhatIf::NoChip:
      return "no such chip";
    case WhatIf::NoMapping:
      return "no mapping fits";
    case WhatIf::Unknown:
      return "not known: a limit ended the search first";
  }
  return "";
}

template <class Q>
void add_shares(std::string& text, const char* name, const PerComponent<bool>& open,
                const PerComponent<Q>& has, Q total) {
  std::string list;
  for (const Component part : kComponents) {
    if (!open[part]) continue;
    list += fmt::format("{}{} {:.4g}", list.empty() ? " " : ", ", name_of(part), has[part] / total);
  }
  if (!list.empty()) text += (text.empty() ? "" : "; ") + std::string(name) + list;
}

}  // namespace

std::string split_text(const ChipDesign& design, const Chip& chip) {
  const Budget& budget = design.budget;
  const OpenShares open = open_shares(budget, design.technology);
  std::string text;
  add_shares(text, "area", open.area, chip.split.area, budget.die);
  add_shares(text, "power", open.power, chip.split.power, budget.total);
  add_shares(text, "edge", open.edge, chip.split.edge, budget.perimeter());
  return text;
}

Sheet gains_text(const std::vector<BudgetGain>& gains) {
  if (gains.empty()) return "";
  if (std::all_of(gains.begin(), gains.end(),
                  [](const BudgetGain& gain) { return gain.known == WhatIf::Unknown; })) {
    return "\n" + labelled("binds", "not known: a limit ended the search first");
  }
  TextTable table({"budget", "part", "has", "more", "step time", "with that increase alone"});
  const BudgetGain* most = nullptr;
  bool all_known = true;
  for (const BudgetGain& gain : gains) {
    const bool known = gain.known == WhatIf::Known;
    table.add({name_of(gain.budget), part_name(gain), amount_text(gain.budget, gain.has),
               amount_text(gain.budget, gain.more),
               known ? to_text(Seconds(gain.objective.in_base_units())) : "-"},
              {effect_text(gain)});
    all_known = all_known && gain.known != WhatIf::Unknown;
    if (known && gain.change < (most == nullptr ? 0.0 : most->change)) most = &gain;
  }
  std::string binds = all_known ? "no budget alone: no single increase makes the step faster"
                                : "not known: a limit ended the search first";
  if (most != nullptr) {
    binds = fmt::format("{} of {}: {} with {} more", name_of(most->budget),
                        most->part ? name_of(*most->part) : "the chip", change_text(most->change),
                        amount_text(most->budget, most->more));
  }
  return TitledTable{
             "increases: one search step for shares that were searched, a tenth for given ones",
             std::move(table)} +
         labelled("binds", binds);
}

std::string budget_bars(const ChipDesign& design, const Chip& chip) {
  const Budget& budget = design.budget;
  const Split& split = chip.split;
  const auto heading = [](const char* name) {
    return fmt::format("  {:>6} {:<{}}", name, "", static_cast<int>(kBar));
  };
  std::string text =
      row(fmt::format("{:>9}", "of the") + heading("area") + heading("power") + heading("edge"));
  const auto add = [&](const char* name, double area, double power, std::optional<double> edge) {
    text += row(fmt::format("{:>9}", name) + cell(area) + cell(power) +
                (edge ? cell(*edge) : std::string()));
  };
  for (const Component part : kComponents) {
    if (!is_part_of(design.technology, part)) continue;
    std::optional<double> edge;
    if (has_edge(part)) edge = split.edge[part] / budget.perimeter();
    add(name_of(part), split.area[part] / budget.die, split.power[part] / budget.total, edge);
  }
  add("left", 1.0 - sum_of(split.area) / budget.die, 1.0 - sum_of(split.power) / budget.total,
      1.0 - sum_of(split.edge) / budget.perimeter());
  return text;
}

}  // namespace dfsearch
