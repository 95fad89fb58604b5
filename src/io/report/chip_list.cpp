#include "io/report/chip_list.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/units_text.hpp"
#include "io/report/chip_text.hpp"
#include "io/report/report_words.hpp"
#include "io/text/joined.hpp"
#include "io/text/text_table.hpp"

namespace dfsearch {
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
  reasons +=
      labelled("held by",
               "number and speed of cores, of wires of the memory, of links; number: A area, "
               "E edge, K package; speed: P power, v least voltage, V greatest voltage; G given");
  return table.text() + text_of(reasons);
}

}  // namespace dfsearch
