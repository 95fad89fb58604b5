// Each quantity is taken from the corner of the box that is best for it.  More power and
// more edge are never worse, and more area is better for the number of a thing.  What more
// area makes worse comes from the other corner: fewer cores share a level and leave it more
// room (crossbar), fewer bits leak, fewer cores run faster.
//
// A chip that can be built has a bundle at least, so no split of the box has fewer cores
// than that, whatever its least area is.

#include "technology/optimistic_chip.hpp"

#include <algorithm>

namespace dfsearch {
namespace {

constexpr BytesPerSecond kSlowestBandwidth{1.0};

/// `most` with the areas of the core, or of all else that shares or leaks, from `least`.
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

/// What is left of a power when so much leaks.
Watts left(Watts power, Watts leakage) { return std::max(Watts{}, power - leakage); }

}  // namespace

std::optional<Chip> optimistic_chip(const ChipDesign& design, const Split& least, const Split& most,
                                    const std::vector<NetworkDimension>& network, CycleUse cycles) {
  const Technology& technology = design.technology;
  Chip chip = derive(design, most, network);
  const Chip roomy = derive(design, few_cores(design, least, most), network);
  const Chip dry = derive(design, few_bits(least, most), network);
  chip.infeasible.clear();
  if (chip.core.bundles == 0 || chip.core.point.frequency < Hertz(1.0)) return std::nullopt;
  if (cycles == CycleUse::Counted) chip.core.point.frequency = roomy.core.point.frequency;
  for (std::size_t x = 0; x < chip.levels.size(); ++x) {
    ChipLevel& level = chip.levels[x];
    level.capacity = roomy.levels[x].capacity;
    level.share = roomy.levels[x].share;
    if (!level.given_bandwidth) {
      const LevelTechnology& of = *technology.level(level.name);
      const Watts power = left(most.power[component_of(level.name)], dry.levels[x].leakage);
      level.raw_bandwidth = power / of.energy;
      level.bandwidth = of.utilization * level.raw_bandwidth;
    }
    const bool is_there = level.capacity > Bytes{} && level.raw_bandwidth >= kSlowestBandwidth;
    if (!is_there) return std::nullopt;
  }
  if (chip.memory && chip.memory->point.limit != SpeedLimit::Given) {
    const MemoryTechnology& of = *technology.memory;
    ChipMemory& memory = *chip.memory;
    const Bytes wires(static_cast<double>(memory.links) / 8.0);
    const Watts nominal = of.energy * (wires * of.transistors.frequency);
    memory.point =
        operating_point(of.transistors, left(most.power[Component::Memory], dry.memory->leakage),
                        nominal, design.equations.voltage_floor);
    memory.raw_bandwidth = wires * memory.point.frequency;
    memory.bandwidth = of.utilization * memory.raw_bandwidth;
    // That of the most stacks, which what they leak may have turned off.
    const std::int64_t stacks =
        std::min(whole_part((design.budget.package - design.budget.die) / of.stack_area),
                 whole_part(most.area[Component::Memory] / of.controller_area));
    memory.capacity = design.given.memory_capacity.value_or(static_cast<double>(stacks) * of.stack);
    if (memory.bandwidth < kSlowestBandwidth) return std::nullopt;
  }
  for (const auto& link : chip.links) {
    if (link && link->ports > 0 && link->port_bandwidth < kSlowestBandwidth) return std::nullopt;
  }
  return chip;
}

}  // namespace dfsearch
