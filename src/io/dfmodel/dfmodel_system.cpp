#include "io/dfmodel/dfmodel_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/units_text.hpp"
#include "base/words.hpp"
#include "model/machine/machine.hpp"
#include "model/machine/topology.hpp"

namespace dfsearch {
namespace {

/// The abbreviations of topologies in the names of DFModel's networks, such as r_sw_sw.
constexpr auto kSetupTopologies = named<Topology>(
    {{"r", Topology::Ring}, {"fc", Topology::FullyConnected}, {"sw", Topology::Switch}});

constexpr std::array<const char*, 3> kAxes = {"x", "y", "z"};

/// The topologies of the dimensions, innermost first: "r_sw_sw" -> ring, switch,
/// switch; none for a single chip.
std::vector<Topology> topologies(const std::string& variant) {
  std::vector<Topology> result;
  if (variant == "single_chip") return result;
  for (std::size_t at = 0; at < variant.size();) {
    const std::size_t end = std::min(variant.find('_', at), variant.size());
    const std::string part = variant.substr(at, end - at);
    for (const auto& word : kSetupTopologies) {
      if (part == word.name) result.push_back(word.value);
    }
    at = end + 1;
  }
  return result;
}

std::string strategy_of(const SetupNode& network, const std::string& field) {
  const std::string word = network.text(field);
  if (word.empty()) return {};
  if (word == "TP") return ", strategy: tensor";
  if (word == "PP") return ", strategy: pipeline";
  if (word == "DP") return ", strategy: data";
  network.complain(field, "unknown value " + in_quotes(word) + ", expected TP, PP or DP");
  return {};
}

void check_degrees(const SetupNode& network, std::size_t dimensions, std::int64_t chips) {
  double product = 1.0;
  bool all = true;
  for (std::size_t d = 0; d < dimensions; ++d) {
    const std::optional<std::int64_t> degree = network.count(kAxes[d]);
    product *= static_cast<double>(degree.value_or(1));
    all &= degree.has_value();
  }
  const double wanted = static_cast<double>(chips);
  if (all ? product == wanted : std::fmod(wanted, product) == 0.0) return;
  network.messages().add(network.place(), network.name(),
                         fmt::format("the product of the degrees is {}, expected {}num_chip, {}",
                                     to_exact_text(product), all ? "" : "a divisor of ", chips));
}

/// `copies`: DFModel's degrees belong to one copy of a workload.  `latency`: of all links, in
/// nanoseconds.
void read_network(const SetupNode& section, std::int64_t copies, std::optional<double> latency,
                  SetupSystem& system) {
  const std::optional<SetupNode> network = section.one_of("topology_variant");
  if (!network) {
    section.messages().add(section.place(), section.name(),
                           "missing topology, expected one of r, fc, sw, r_r, fc_fc, r_fc, r_sw, "
                           "sw_sw, r_r_r, r_sw_sw, sw_sw_sw or single_chip");
    return;
  }
  const std::vector<Topology> dimensions = topologies(network->name());
  system.dimensions = dimensions.size();
  if (!dimensions.empty()) system.yaml += "  network:\n";
  for (std::size_t d = 0; d < kAxes.size() && network->name() != "single_chip"; ++d) {
    const std::string axis = kAxes[d];
    if (d >= dimensions.size()) {
      for (const std::string& field : {axis, "link_bw_" + axis, "par_" + axis}) {
        if (network->has(field)) network->complain(field, "unknown field of " + network->name());
      }
      continue;
    }
    const std::optional<std::int64_t> degree = network->count(axis);
    const double bandwidth = network->required_number("link_bw_" + axis).value_or(1.0);
    const std::string strategy = strategy_of(*network, "par_" + axis);
    if (strategy == ", strategy: data") system.data_degree *= degree.value_or(1);
    system.yaml += fmt::format(
        "    - {{topology: {}{}, bandwidth: {} GB/s{}{}}}\n", name_of(dimensions[d]),
        degree ? fmt::format(", degree: {}", *degree) : std::string(), to_exact_text(bandwidth),
        latency ? fmt::format(", latency: {} ns", to_exact_text(*latency)) : "", strategy);
  }
  if (system.chips % copies == 0) {
    check_degrees(*network, dimensions.size(), system.chips / copies);
  } else {
    section.complain("num_chip", fmt::format("expected a multiple of num_copy, {}", copies));
  }
}

/// The memory from the message `memory`, or from `accelerator` in older setups.
std::string memory_yaml(const SetupNode& section, const SetupNode& accelerator) {
  const std::optional<SetupNode> memory = section.child("memory");
  if (memory) {
    for (const char* field : {"dram_bw", "dram_cap"}) {
      if (accelerator.has(field)) accelerator.complain(field, "stands in memory as well");
    }
  }
  const SetupNode& holder = memory ? *memory : accelerator;
  const double bandwidth = holder.required_number("dram_bw").value_or(1.0);
  const std::optional<double> capacity = holder.number("dram_cap");
  std::string yaml = fmt::format("  memory: {{bandwidth: {} GB/s", to_exact_text(bandwidth));
  if (capacity) yaml += ", capacity: " + to_exact_text(Bytes(*capacity));
  if (memory && (memory->number("second_dram_bw") || memory->number("second_dram_cap"))) {
    yaml +=
        fmt::format(", second: {{bandwidth: {} GB/s, capacity: {}}}",
                    to_exact_text(memory->required_number("second_dram_bw").value_or(1.0)),
                    to_exact_text(Bytes(memory->required_number("second_dram_cap").value_or(1.0))));
  }
  return yaml + "}\n";
}

}  // namespace

SetupSystem read_setup_system(const SetupNode& section, std::int64_t copies) {
  SetupSystem system;
  system.chips = section.required_count("num_chip").value_or(1);
  section.refuse("HBD", "a dimension has one topology and one bandwidth");
  section.refuse("dram_bw_dse", "bandwidths are not searched");
  section.refuse("net_bw_dse", "bandwidths are not searched");
  const std::optional<SetupNode> chip = section.required_child("accelerator");
  if (!chip) return system;
  for (const char* field : {"pmu", "pmu_cap", "x", "y", "placement"}) {
    chip->refuse(field, "dfsearch does not place and route");
  }
  system.yaml = fmt::format(
      "system:\n  chips: {}\n  accelerator: {{cores: {}, lanes: {}, stages: {}, frequency: {} GHz, "
      "sram: {}}}\n",
      system.chips, chip->required_count("core").value_or(1),
      chip->required_count("systolic_width").value_or(1),
      chip->required_count("systolic_height").value_or(1),
      to_exact_text(chip->required_number("freq").value_or(1.0)),
      to_exact_text(Bytes(chip->required_number("sram_cap").value_or(1.0))));
  system.yaml += memory_yaml(section, *chip);
  read_network(section, copies, chip->number("link_latency"), system);
  return system;
}

std::string setup_cost_yaml(const SetupNode& cost, std::size_t dimensions) {
  const auto amount = [&](const std::string& field) {
    return to_exact_text(cost.number(field).value_or(0.0));
  };
  // Many setups have a unit power for a dimension that is not there; it has no effect.
  std::string links;
  for (std::size_t d = 0; d < dimensions; ++d) {
    links +=
        fmt::format("{}{}", d == 0 ? "" : ", ", amount(std::string("link_unit_power_") + kAxes[d]));
  }
  return fmt::format("price: {{accelerator: {}, memory: {}, link: {}, switch: {}}}\n",
                     amount("accelerator_price"), amount("dram_unit_price"),
                     amount("link_unit_price"), amount("switch_unit_price")) +
         fmt::format("power: {{accelerator: {}, memory: {}{}, switch: {}}}\n",
                     amount("accelerator_power"), amount("dram_unit_power"),
                     dimensions == 0 ? std::string() : ", link: [" + links + "]",
                     amount("switch_unit_power"));
}

}  // namespace dfsearch
