#include "technology/derive.hpp"

#include <algorithm>
#include <cmath>

#include "base/counts.hpp"

// From a split to a chip: first the number of units that fit into the area, the edge or the
// package, then the speed at which their power lets them run.

namespace dfsearch {

namespace {

constexpr double kSlack = 1.0 + 1e-12;
constexpr double kMost = 1099511627776.0;  // 2^40, the most that a config may give

/// Rates below these count as zero, since all times of a machine must be finite.
constexpr BytesPerSecond kSlowestBandwidth{1.0};
constexpr Hertz kLeastFrequency{1.0};

class Derivation {
 public:
  /// If `dry` is given, the memories have the leakages of that chip.
  Derivation(const ChipDesign& design, const Split& split,
             const std::vector<NetworkDimension>& network, const Chip* dry = nullptr)
      : design_(design), split_(split), network_(network), dry_(dry) {}

  Chip chip() {
    chip_.split = split_;
    chip_.infeasible = overspent(design_, split_);
    derive_core();
    for (const LevelName name : kLevelNames) {
      if (const auto& level = design_.technology.level(name)) derive_level(name, *level);
    }
    if (design_.technology.memory) derive_memory(*design_.technology.memory);
    for (const LinkKind kind : kLinkKinds) {
      if (const auto& link = design_.technology.link(kind)) derive_link(kind, *link);
    }
    return std::move(chip_);
  }

 private:
  void derive_core();
  void derive_level(LevelName name, const LevelTechnology& level);
  void derive_memory(const MemoryTechnology& memory);
  void derive_link(LinkKind kind, const LinkTechnology& link);
  std::int64_t ports_of(LinkKind kind) const;

  /// Adds the shortage of a part that cannot run with its share of a budget.
  void lack(Component part, BudgetClass budget, double needed, bool more_than = false) {
    double available = split_.area[part].in_base_units();
    if (budget == BudgetClass::Power) available = split_.power[part].in_base_units();
    if (budget == BudgetClass::Edge) available = split_.edge[part].in_base_units();
    if (budget == BudgetClass::Package) {
      available = (design_.budget.package - design_.budget.die).in_base_units();
    }
    chip_.infeasible.push_back({part, budget, needed, available, more_than});
  }

  const ChipDesign& design_;
  const Split& split_;
  const std::vector<NetworkDimension>& network_;
  const Chip* const dry_;
  Chip chip_;
};

// docs/technology.md (6), (7)
void Derivation::derive_core() {
  const CoreTechnology& technology = design_.technology.core;
  ChipCore& core = chip_.core;
  core.cores = whole_part(split_.area[Component::Core] / technology.area);
  if (design_.given.cores) {
    core.cores = *design_.given.cores;
    core.held_by = CountLimit::Given;
  }
  core.bundles = core.cores / technology.bundle;
  if (core.bundles == 0) {
    lack(Component::Core, BudgetClass::DieArea,
         (technology.area * number(technology.bundle)).in_base_units());
  }
  if (design_.given.frequency) {
    core.point = {Volts{}, *design_.given.frequency, SpeedLimit::Given};
  } else {
    const Watts nominal = technology.power * number(core.cores);
    core.point = operating_point(*technology.transistors, split_.power[Component::Core], nominal,
                                 design_.equations.voltage_floor);
    chip_.power[Component::Core] = drawn_power(*technology.transistors, core.point, nominal);
    if (core.bundles > 0 && core.point.frequency < kLeastFrequency) {
      lack(Component::Core, BudgetClass::Power, 0.0, true);
    }
  }
  core.flops_per_cycle = 2 * technology.lanes * technology.stages;
  core.peak = Flops(number(core.flops_per_cycle) * number(core.cores)) * core.point.frequency;
  core.utilization = technology.utilization.value_or(1.0);
  core.usable = core.utilization * core.peak;
}

// docs/technology.md (8), (9), (10)
void Derivation::derive_level(LevelName name, const LevelTechnology& technology) {
  const Component part = component_of(name);
  const GivenLevel& given = design_.given.levels[static_cast<std::size_t>(name)];
  ChipLevel level{.name = name, .scope = technology.scope, .latency = technology.latency};
  const double dense = 1.0 - technology.overhead;
  const Area bank = technology.bank * technology.cell_area +
                    dense * number(chip_.core.bundles) * technology.port_area;
  level.banks = whole_part(dense * split_.area[part] / bank);
  if (level.banks == 0 && !given.capacity) {
    lack(part, BudgetClass::DieArea, (bank / dense).in_base_units());
  }
  level.given_capacity = given.capacity.has_value();
  level.capacity = given.capacity.value_or(number(level.banks) * technology.bank);
  level.leakage =
      dry_ ? dry_->levels[chip_.levels.size()].leakage : technology.leakage * level.capacity;
  level.given_bandwidth = given.bandwidth.has_value();
  if (given.bandwidth) {
    level.raw_bandwidth = *given.bandwidth;
  } else {
    const Watts left = std::max(Watts{}, split_.power[part] - level.leakage);
    level.raw_bandwidth = left / technology.energy;
    chip_.power[part] = split_.power[part];
    if (level.raw_bandwidth < kSlowestBandwidth) {
      lack(part, BudgetClass::Power, level.leakage.in_base_units(), true);
    }
  }
  level.bandwidth = technology.utilization * level.raw_bandwidth;
  std::int64_t owners = 1;
  if (technology.scope == LevelScope::Core) owners = chip_.core.cores;
  if (technology.scope == LevelScope::Bundle) owners = chip_.core.bundles;
  level.share = level.capacity / number(std::max<std::int64_t>(owners, 1));
  chip_.levels.push_back(level);
}

// docs/technology.md (11), (12), (13)
void Derivation::derive_memory(const MemoryTechnology& technology) {
  const GivenValues& given = design_.given;
  ChipMemory memory{.latency = technology.latency};
  const Area beside = std::max(Area{}, design_.budget.package - design_.budget.die);
  const std::int64_t in_package = whole_part(beside / technology.stack_area);
  const std::int64_t with_controller =
      whole_part(split_.area[Component::Memory] / technology.controller_area);
  memory.stacks = std::min(in_package, with_controller);
  memory.stacks_held_by = with_controller < in_package ? CountLimit::DieArea : CountLimit::Package;
  const std::int64_t stack_links =
      whole_part(number(technology.links_per_stack) * number(memory.stacks));
  memory.edge_links = whole_part(split_.edge[Component::Memory] * technology.links_per_mm);
  memory.links = std::min(memory.edge_links, stack_links);
  memory.links_held_by = memory.edge_links < stack_links ? CountLimit::Edge : CountLimit::Stack;
  memory.capacity = given.memory_capacity.value_or(number(memory.stacks) * technology.stack);
  memory.leakage = dry_ ? dry_->memory->leakage : technology.leakage * memory.capacity;
  const Watts left = std::max(Watts{}, split_.power[Component::Memory] - memory.leakage);
  const Bytes wires(number(memory.links) / 8.0);
  const Watts nominal = technology.energy * (wires * technology.transistors.frequency);
  memory.point =
      operating_point(technology.transistors, left, nominal, design_.equations.voltage_floor);
  if (given.memory_bandwidth) {
    memory.point.limit = SpeedLimit::Given;
    memory.bandwidth = *given.memory_bandwidth;
    memory.raw_bandwidth = memory.bandwidth / technology.utilization;
  } else {
    chip_.power[Component::Memory] =
        drawn_power(technology.transistors, memory.point, nominal) + memory.leakage;
    memory.raw_bandwidth = wires * memory.point.frequency;
    memory.bandwidth = technology.utilization * memory.raw_bandwidth;
    if (in_package == 0) {
      lack(Component::Memory, BudgetClass::Package, technology.stack_area.in_base_units());
    } else if (with_controller == 0) {
      lack(Component::Memory, BudgetClass::DieArea, technology.controller_area.in_base_units());
    } else if (memory.edge_links == 0) {
      lack(Component::Memory, BudgetClass::Edge, (1.0 / technology.links_per_mm).in_base_units());
    } else if (memory.bandwidth < kSlowestBandwidth) {
      lack(Component::Memory, BudgetClass::Power, memory.leakage.in_base_units(), true);
    }
    if (memory.raw_bandwidth < kSlowestBandwidth) memory.stacks = 0;
    if (memory.stacks == 0 && !given.memory_capacity) memory.capacity = Bytes{};
  }
  chip_.memory = memory;
}

// docs/technology.md (14)
void Derivation::derive_link(LinkKind kind, const LinkTechnology& technology) {
  const Component part = component_of(kind);
  ChipLink link{.kind = kind, .latency = technology.latency};
  const double by_area = split_.area[part] / technology.area;
  const double by_edge = split_.edge[part] * technology.links_per_mm;
  link.wires = whole_part(std::min(by_area, by_edge));
  link.held_by = by_area < by_edge ? CountLimit::DieArea : CountLimit::Edge;
  const Bytes wires(number(link.wires) / 8.0);
  const Watts nominal = technology.energy * (wires * technology.transistors.frequency);
  link.point = operating_point(technology.transistors, split_.power[part], nominal);
  chip_.power[part] = drawn_power(technology.transistors, link.point, nominal);
  link.bandwidth = technology.utilization * (wires * link.point.frequency);
  link.ports = ports_of(kind);
  if (link.ports > 0) {
    link.port_bandwidth = link.bandwidth / number(link.ports);
    if (link.wires == 0) {
      const bool area = link.held_by == CountLimit::DieArea;
      lack(
          part, area ? BudgetClass::DieArea : BudgetClass::Edge,
          area ? technology.area.in_base_units() : (1.0 / technology.links_per_mm).in_base_units());
    } else if (link.port_bandwidth < kSlowestBandwidth) {
      lack(part, BudgetClass::Power, 0.0, true);
    }
  }
  chip_.links[static_cast<std::size_t>(kind)] = link;
}

// docs/technology.md (15)
std::int64_t Derivation::ports_of(LinkKind kind) const {
  std::int64_t ports = 0;
  bool any = false;
  bool given = false;
  for (std::size_t d = 0; d < design_.dimensions.size(); ++d) {
    const DimensionPorts& dimension = design_.dimensions[d];
    if (dimension.link != kind) continue;
    any = true;
    given = given || dimension.ports.has_value();
    const auto degree = static_cast<double>(network_[d].degree.value_or(2));
    const double own = row_of(network_[d].topology).chip_ports(degree);
    ports += dimension.ports.value_or(static_cast<std::int64_t>(own));
  }
  if (any && !given && design_.equations.link_ports == LinkPorts::FourAndOne) {
    return kind == LinkKind::Intra ? 4 : 1;
  }
  // At least one, even if all dimensions have a single member and need no port.
  return any ? std::max<std::int64_t>(ports, 1) : 0;
}

}  // namespace

Watts Chip::drawn() const {
  Watts sum{};
  for (const Component part : kComponents) sum += power[part].value_or(split.power[part]);
  return sum;
}

std::int64_t whole_part(double x) {
  return static_cast<std::int64_t>(std::floor(std::clamp(x * kSlack, 0.0, kMost)));
}

std::vector<Shortage> overspent(const ChipDesign& design, const Split& split) {
  std::vector<Shortage> shortages;
  if (design.equations.budget_sums == BudgetSums::Unchecked) return shortages;
  const auto check = [&](BudgetClass budget, double used, double total) {
    if (used > total * kSlack) shortages.push_back({std::nullopt, budget, used, total, false});
  };
  check(BudgetClass::DieArea, sum_of(split.area).in_base_units(),
        design.budget.die.in_base_units());
  check(BudgetClass::Power, sum_of(split.power).in_base_units(),
        design.budget.total.in_base_units());
  check(BudgetClass::Edge, sum_of(split.edge).in_base_units(),
        design.budget.perimeter().in_base_units());
  return shortages;
}

Chip derive(const ChipDesign& design, const Split& split,
            const std::vector<NetworkDimension>& network) {
  return Derivation(design, split, network).chip();
}

// docs/technology.md (16)
void put_into(const ChipDesign& design, const Chip& chip, Machine& system) {
  const CoreTechnology& core = design.technology.core;
  system.accelerator.cores = chip.core.cores;
  system.accelerator.lanes = core.lanes;
  system.accelerator.stages = core.stages;
  system.accelerator.frequency = chip.core.point.frequency;
  Bytes sram{};
  system.levels.clear();
  for (const ChipLevel& level : chip.levels) {
    sram += level.capacity;
    system.levels.push_back({level.name, level.share, level.bandwidth, level.latency});
  }
  system.accelerator.sram = design.given.sram.value_or(sram);
  if (chip.memory) {
    system.memory[0].bandwidth = chip.memory->bandwidth;
    system.memory[0].capacity = chip.memory->capacity;
  }
  for (std::size_t d = 0; d < system.network.size(); ++d) {
    const std::optional<LinkKind> kind = design.dimensions[d].link;
    if (!kind) continue;
    const ChipLink& link = *chip.links[static_cast<std::size_t>(*kind)];
    system.network[d].bandwidth = link.port_bandwidth;
  }
}

// Each quantity is taken from the corner of the box that is best for it.  More power and more edge
// are never worse, and more area is better for the number of units.  Quantities that get worse with
// area come from the other corner: fewer cores share a level and need a smaller crossbar, fewer
// bits leak, fewer cores run faster.
//
// A chip that can be built has at least one bundle, so no split of the box has fewer cores
// than a bundle, even if its least area is smaller.

namespace {

/// The split `most` with the area of cores of `least`, but at least the area of one bundle.
Split few_cores(const ChipDesign& design, const Split& least, const Split& most) {
  Split split = most;
  const CoreTechnology& core = design.technology.core;
  const Area bundle = core.area * static_cast<double>(core.bundle);
  split.area[Component::Core] =
      std::min(most.area[Component::Core], std::max(least.area[Component::Core], bundle));
  return split;
}

Split few_bits(const Split& least, const Split& most) {
  Split split = most;
  for (const Component part :
       {Component::Registers, Component::L1, Component::L2, Component::Memory}) {
    split.area[part] = least.area[part];
  }
  return split;
}

}  // namespace

std::optional<Chip> optimistic_chip(const ChipDesign& design, const Split& least, const Split& most,
                                    const std::vector<NetworkDimension>& network, CycleUse cycles) {
  const Chip roomy = derive(design, few_cores(design, least, most), network);
  const Chip dry = derive(design, few_bits(least, most), network);
  Chip chip = Derivation(design, most, network, &dry).chip();
  chip.infeasible.clear();
  if (chip.core.bundles == 0 || chip.core.point.frequency < kLeastFrequency) return std::nullopt;
  if (cycles == CycleUse::Counted) chip.core.point.frequency = roomy.core.point.frequency;
  for (std::size_t x = 0; x < chip.levels.size(); ++x) {
    ChipLevel& level = chip.levels[x];
    level.capacity = roomy.levels[x].capacity;
    level.share = roomy.levels[x].share;
    const bool is_there = level.capacity > Bytes{} && level.raw_bandwidth >= kSlowestBandwidth;
    if (!is_there) return std::nullopt;
  }
  if (chip.memory && chip.memory->point.limit != SpeedLimit::Given &&
      chip.memory->bandwidth < kSlowestBandwidth) {
    return std::nullopt;
  }
  for (const auto& link : chip.links) {
    if (link && link->ports > 0 && link->port_bandwidth < kSlowestBandwidth) return std::nullopt;
  }
  return chip;
}

}  // namespace dfsearch
