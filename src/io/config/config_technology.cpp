// The keys `technology`, `budget` and `levels` of a system.

#include "io/config/config_technology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "technology/names.hpp"

namespace dfsearch {
namespace {

// What any technology may have.  Both ends keep every number of a chip finite.
constexpr Range<Area> kArea{Area(1e-18), Area(1e12)};
constexpr Range<Area> kAreaOrNone{Area(0.0), Area(1e12)};
constexpr Range<Watts> kPower{Watts(1e-15), Watts(1e12)};
constexpr Range<Hertz> kFrequency{Hertz(1.0), Hertz(1e18)};
constexpr Range<Volts> kVoltage{Volts(1e-3), Volts(1e3)};
constexpr Range<Volts> kMargin{Volts(0.0), Volts(1e3)};
constexpr Range<Bytes> kSize{Bytes(1.0), Bytes(1e24)};
constexpr Range<BytesPerSecond> kBandwidth{BytesPerSecond(1.0), BytesPerSecond(1e24)};
constexpr Range<AreaPerByte> kCellArea{AreaPerByte(8e-18), AreaPerByte(8e6)};
constexpr Range<JoulesPerByte> kEnergy{JoulesPerByte(8e-21), JoulesPerByte(8e3)};
constexpr Range<WattsPerByte> kLeakage{WattsPerByte(0.0), WattsPerByte(8.0)};
constexpr Range<PerLength> kDensity{PerLength(1e-6), PerLength(1e9)};
constexpr Range<Seconds> kLatency{Seconds(0.0), Seconds(1e3)};
constexpr Range<double> kOverhead{0.0, 0.999};
constexpr Range<double> kUtilization{1e-9, 1.0};
// A core has no more multiply-add units than a chip may have cores.
constexpr CountRange kSide{.least = 1, .most = std::int64_t{1} << 20};

/// The least value of a quantity for a key that is wrong or not there, so that reading
/// goes on with something that divides.
template <class Q>
Q required(MapReader& reader, std::string_view key, Range<Q> range) {
  return reader.required_quantity(key, range).value_or(range.most);
}

/// Voltages and frequency; nothing where one of them is not there or wrong, which is
/// reported if `needed`.
std::optional<Transistors> read_transistors(MapReader& reader, bool needed) {
  const std::size_t before = reader.messages().count();
  const auto frequency = reader.optional_quantity("frequency", kFrequency);
  const auto voltage = reader.optional_quantity("voltage", kVoltage);
  const auto threshold = reader.optional_quantity("threshold", kVoltage);
  const auto margin = reader.optional_quantity("margin", kMargin);
  const auto maximum = reader.optional_quantity("maximum_voltage", kVoltage);
  if (needed) reader.required("frequency");
  if (needed) reader.required("voltage");
  if (voltage) reader.required("threshold", "it goes with 'voltage'");
  if (voltage) reader.required("margin", "it goes with 'voltage'");
  if (!frequency || !voltage || !threshold || !margin) return std::nullopt;
  Transistors transistors{.frequency = *frequency,
                          .voltage = *voltage,
                          .threshold = *threshold,
                          .minimum = *threshold + *margin,
                          .maximum = maximum.value_or(Volts::infinity())};
  if (transistors.voltage <= transistors.threshold) {
    const YamlEntry* entry = reader.optional("voltage");
    reader.messages().add(entry->value.place, "voltage",
                          fmt::format("expected more than the threshold, {}, got {}",
                                      to_text(*threshold), to_text(*voltage)));
  }
  if (transistors.maximum < transistors.minimum) {
    const YamlEntry* entry = reader.optional("maximum_voltage");
    reader.messages().add(entry->value.place, "maximum_voltage",
                          fmt::format("expected at least threshold + margin, {}, got {}",
                                      to_text(transistors.minimum), to_text(*maximum)));
  }
  if (reader.messages().count() != before) return std::nullopt;
  return transistors;
}

CoreTechnology read_core(const YamlEntry& section, bool speed_is_given, InputMessages& messages) {
  MapReader reader(section, messages);
  CoreTechnology core;
  core.lanes = reader.required_count("lanes", kSide).value_or(1);
  core.stages = reader.required_count("stages", kSide).value_or(1);
  core.bundle = reader.optional_count("bundle").value_or(1);
  core.area = required(reader, "area", kArea);
  core.power = reader.optional_quantity("power", kPower).value_or(Watts());
  if (!speed_is_given) {
    reader.required("power", "needed unless accelerator.frequency is given");
  }
  core.transistors = read_transistors(reader, !speed_is_given);
  core.utilization = reader.optional_number("utilization", kUtilization);
  core.fma = reader.optional_count("fma", kSide);
  reader.finish();
  return core;
}

const Choices<LevelScope>& scopes() {
  static const Choices<LevelScope> all = {
      {"core", LevelScope::Core}, {"bundle", LevelScope::Bundle}, {"chip", LevelScope::Chip}};
  return all;
}

LevelTechnology read_level(const YamlEntry& section, InputMessages& messages) {
  MapReader reader(section, messages);
  LevelTechnology level;
  level.scope = reader.required_choice("scope", scopes()).value_or(LevelScope::Chip);
  level.bank = required(reader, "bank", kSize);
  level.cell_area = required(reader, "cell_area", kCellArea);
  level.overhead = reader.optional_number("overhead", kOverhead).value_or(0.0);
  level.port_area = reader.optional_quantity("port_area", kAreaOrNone).value_or(Area());
  level.energy = required(reader, "energy", kEnergy);
  level.leakage = required(reader, "leakage", kLeakage);
  level.utilization = reader.optional_number("utilization", kUtilization).value_or(1.0);
  level.latency = reader.optional_quantity("latency", kLatency).value_or(Seconds());
  reader.finish();
  return level;
}

MemoryTechnology read_memory_technology(const YamlEntry& section, InputMessages& messages) {
  MapReader reader(section, messages);
  MemoryTechnology memory;
  memory.stack = required(reader, "stack", kSize);
  memory.stack_area = required(reader, "stack_area", kArea);
  memory.controller_area = required(reader, "controller_area", kArea);
  memory.links_per_stack = reader.required_count("links_per_stack").value_or(1);
  memory.links_per_mm = required(reader, "links_per_mm", kDensity);
  memory.transistors = read_transistors(reader, true).value_or(Transistors());
  memory.energy = required(reader, "energy", kEnergy);
  memory.leakage = required(reader, "leakage", kLeakage);
  memory.utilization = reader.optional_number("utilization", kUtilization).value_or(1.0);
  memory.latency = reader.optional_quantity("latency", kLatency).value_or(Seconds());
  reader.finish();
  return memory;
}

LinkTechnology read_link(const YamlEntry& section, InputMessages& messages) {
  MapReader reader(section, messages);
  LinkTechnology link;
  link.area = required(reader, "area", kArea);
  link.links_per_mm = required(reader, "links_per_mm", kDensity);
  link.transistors = read_transistors(reader, true).value_or(Transistors());
  link.energy = required(reader, "energy", kEnergy);
  link.utilization = reader.optional_number("utilization", kUtilization).value_or(1.0);
  link.latency = reader.optional_quantity("latency", kLatency).value_or(Seconds());
  reader.finish();
  return link;
}

/// A plain number is a fraction, anything else a quantity.
template <class Q>
std::optional<Share<Q>> read_share(const YamlEntry& entry, Range<Q> range,
                                   InputMessages& messages) {
  bool is_number = entry.value.type == YamlNode::Type::Scalar;
  if (is_number) {
    try {
      parse_number(entry.value.scalar);
    } catch (const InputError&) {
      is_number = false;
    }
  }
  if (is_number) {
    const std::optional<double> fraction = read_number(entry, {0.0, 1.0}, messages);
    return fraction ? std::optional<Share<Q>>(*fraction) : std::nullopt;
  }
  const std::optional<Q> amount = read_quantity(entry, range, messages);
  return amount ? std::optional<Share<Q>>(*amount) : std::nullopt;
}

/// The shares of one class; a part that the technology does not have gets nothing.
template <class Q>
void read_shares(MapReader& reader, const PerComponent<bool>& is_there, Range<Q> range,
                 PerComponent<std::optional<Share<Q>>>& shares) {
  for (const Component part : kComponents) {
    const bool is_edge = std::is_same_v<Q, Length>;
    if (is_edge && !has_edge(part)) continue;
    const YamlEntry* entry = reader.optional(name_of(part));
    if (!entry) {
      if (!is_there[part]) shares[part] = Share<Q>(0.0);
      continue;
    }
    shares[part] = read_share<Q>(*entry, range, reader.messages());
    const bool is_zero = shares[part] == Share<Q>(0.0) || shares[part] == Share<Q>(Q{});
    if (is_there[part] || !shares[part] || is_zero) continue;
    reader.messages().add(entry->place, entry->key,
                          fmt::format("the technology has no '{}' to spend it on", entry->key));
  }
}

/// A technology of the wrong kind is not asked for the rest.
PerComponent<bool> parts_of(const Technology& technology) {
  PerComponent<bool> is_there;
  is_there[Component::Core] = true;
  for (const LevelName name : kLevelNames) {
    is_there[component_of(name)] = technology.level(name).has_value();
  }
  is_there[Component::Memory] = technology.memory.has_value();
  for (const LinkKind kind : kLinkKinds) {
    is_there[component_of(kind)] = technology.link(kind).has_value();
  }
  return is_there;
}

}  // namespace

Technology read_technology(const YamlEntry& section, bool speed_is_given, InputMessages& messages) {
  MapReader reader(section, messages);
  Technology technology;
  if (const YamlEntry* core = reader.required("core")) {
    technology.core = read_core(*core, speed_is_given, messages);
  }
  for (const LevelName name : kLevelNames) {
    if (const YamlEntry* level = reader.optional(name_of(name))) {
      technology.levels[static_cast<std::size_t>(name)] = read_level(*level, messages);
    }
  }
  if (const YamlEntry* memory = reader.optional("memory")) {
    technology.memory = read_memory_technology(*memory, messages);
  }
  for (const LinkKind kind : kLinkKinds) {
    if (const YamlEntry* link = reader.optional(name_of(kind))) {
      technology.links[static_cast<std::size_t>(kind)] = read_link(*link, messages);
    }
  }
  reader.finish();
  return technology;
}

Budget read_budget(const YamlEntry& section, const Technology& technology,
                   InputMessages& messages) {
  MapReader reader(section, messages);
  Budget budget;
  const PerComponent<bool> is_there = parts_of(technology);
  if (const YamlEntry* entry = reader.required("area")) {
    MapReader area(*entry, messages);
    const auto package = area.required_quantity("package", kArea);
    const auto die = area.required_quantity("die", kArea);
    budget.package = package.value_or(kArea.most);
    budget.die = die.value_or(Area(1.0));
    if (package && die && *package < *die) {
      messages.add(area.optional("package")->value.place, "package",
                   fmt::format("expected at least the area of the die, {}, got {}", to_text(*die),
                               to_text(*package)));
    }
    read_shares<Area>(area, is_there, kAreaOrNone, budget.area);
    area.finish();
  }
  if (const YamlEntry* entry = reader.required("power")) {
    MapReader power(*entry, messages);
    budget.total = power.required_quantity("total", kPower).value_or(Watts(1.0));
    read_shares<Watts>(power, is_there, {Watts(0.0), kPower.most}, budget.power);
    power.finish();
  }
  bool any_edge = false;
  for (const Component part : kComponents) {
    any_edge = any_edge || (has_edge(part) && is_there[part]);
  }
  if (const YamlEntry* entry = reader.optional("edge")) {
    MapReader edge(*entry, messages);
    read_shares<Length>(edge, is_there, {Length(0.0), Length(1e9)}, budget.edge);
    edge.finish();
  } else if (!any_edge) {
    for (const Component part : kComponents) budget.edge[part] = Share<Length>(0.0);
  }
  budget.step = reader.optional_number("step", {1e-4, 1.0});
  reader.finish();
  return budget;
}

std::array<GivenLevel, kLevelNames.size()> read_given_levels(const YamlEntry& section,
                                                             const Technology& technology,
                                                             InputMessages& messages) {
  std::array<GivenLevel, kLevelNames.size()> given;
  MapReader reader(section, messages);
  for (const LevelName name : kLevelNames) {
    const YamlEntry* entry = reader.optional(name_of(name));
    if (!entry) continue;
    if (!technology.level(name)) {
      messages.add(entry->place, entry->key, fmt::format("the technology has no '{}'", entry->key));
      continue;
    }
    MapReader level(*entry, messages);
    given[static_cast<std::size_t>(name)] = {level.optional_quantity("capacity", kSize),
                                             level.optional_quantity("bandwidth", kBandwidth)};
    level.finish();
  }
  reader.finish();
  return given;
}

std::vector<OnChipLevel> read_levels(const YamlEntry& section, std::int64_t cores,
                                     std::int64_t bundle, InputMessages& messages) {
  std::vector<OnChipLevel> levels;
  MapReader reader(section, messages);
  for (const LevelName name : kLevelNames) {
    const YamlEntry* entry = reader.optional(name_of(name));
    if (!entry) continue;
    MapReader level(*entry, messages);
    const LevelScope scope = level.required_choice("scope", scopes()).value_or(LevelScope::Chip);
    const Bytes capacity = required(level, "capacity", kSize);
    const BytesPerSecond bandwidth = required(level, "bandwidth", kBandwidth);
    const Seconds latency = level.optional_quantity("latency", kLatency).value_or(Seconds());
    level.finish();
    std::int64_t owners = 1;
    if (scope == LevelScope::Core) owners = cores;
    if (scope == LevelScope::Bundle) owners = std::max<std::int64_t>(1, cores / bundle);
    levels.push_back({name, capacity / static_cast<double>(owners), bandwidth, latency});
  }
  reader.finish();
  return levels;
}

void read_technology_switches(MapReader& reader, TechnologyEquations& equations) {
  equations.link_ports =
      reader
          .optional_choice<LinkPorts>("link_ports", {{"topology", LinkPorts::Topology},
                                                     {"four_and_one", LinkPorts::FourAndOne}})
          .value_or(equations.link_ports);
  equations.budget_sums =
      reader
          .optional_choice<BudgetSums>("budget_sums", {{"checked", BudgetSums::Checked},
                                                       {"unchecked", BudgetSums::Unchecked}})
          .value_or(equations.budget_sums);
  equations.gemm_tiles =
      reader
          .optional_choice<GemmTiles>("gemm_tiles",
                                      {{"all", GemmTiles::All}, {"drawn", GemmTiles::Drawn}})
          .value_or(equations.gemm_tiles);
  equations.voltage_floor =
      reader
          .optional_choice<VoltageFloor>(
              "voltage_floor", {{"exact", VoltageFloor::Exact}, {"squared", VoltageFloor::Squared}})
          .value_or(equations.voltage_floor);
}

void check_design(const ChipDesign& design, const System& system, const YamlEntry& section,
                  InputMessages& messages) {
  const CoreTechnology& core = design.technology.core;
  const auto wrong = [&](std::string_view key, const std::string& what) {
    messages.add(section.place, key, what);
  };
  if (design.given.cores && *design.given.cores < core.bundle) {
    wrong("technology", fmt::format("a bundle has {} cores, expected at most the {} that "
                                    "accelerator.cores gives",
                                    core.bundle, *design.given.cores));
  }
  const bool has_level =
      std::any_of(design.technology.levels.begin(), design.technology.levels.end(),
                  [](const auto& level) { return level.has_value(); });
  if (!has_level && !design.given.sram) {
    wrong("technology",
          "missing a level, expected registers, L1 or L2, or accelerator.sram to be given");
  }
  if (!design.technology.memory && !design.given.memory_bandwidth) {
    wrong("technology", "missing key 'memory': needed unless memory.bandwidth is given");
  }
  for (std::size_t d = 0; d < system.network.size(); ++d) {
    const DimensionPorts& dimension = design.dimensions[d];
    if (!dimension.link) continue;
    const char* name = name_of(*dimension.link);
    if (!design.technology.link(*dimension.link)) {
      wrong(
          "technology",
          fmt::format("missing key '{}', which dimension {} of the network has as link", name, d));
    }
    const bool open = system.network[d].topology == Topology::FullyConnected &&
                      !system.network[d].degree && !dimension.ports;
    if (open) {
      wrong("network",
            fmt::format("dimension {}: a fully connected one with a link needs its degree or its "
                        "ports",
                        d));
    }
  }
  const OpenShares open = open_shares(design.budget, design.technology);
  if (design.budget.step || !open.any()) return;
  for (const Component part : kComponents) {
    const char* budget = nullptr;
    if (open.edge[part]) budget = "edge";
    if (open.power[part]) budget = "power";
    if (open.area[part]) budget = "area";
    if (!budget) continue;
    wrong("budget", fmt::format("missing key '{}.{}': what is left out is searched, which needs a "
                                "'step'",
                                budget, name_of(part)));
  }
}

}  // namespace dfsearch
