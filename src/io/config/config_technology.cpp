// The keys `technology`, `budget` and `levels` of a system.

#include "io/config/config_technology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "io/schema/read_schema.hpp"
#include "model/machine/machine_schema.hpp"
#include "technology/technology_schema.hpp"

namespace dfsearch {
namespace {

/// Sets the share of absent parts to 0; refuses any other share of them.
template <class Q>
void settle_shares(const YamlEntry* section, const PerComponent<bool>& is_there,
                   PerComponent<std::optional<Share<Q>>>& shares, InputMessages& messages) {
  for (const Component part : kComponents) {
    if (is_there[part]) continue;
    const bool is_zero = shares[part] == Share<Q>(0.0) || shares[part] == Share<Q>(Q{});
    const YamlEntry* entry = section ? section->value.find(name_of(part)) : nullptr;
    if (entry && shares[part] && !is_zero) {
      messages.add(
          entry->place, entry->key,
          fmt::format("expected no share or 0, as the technology has no '{}'", entry->key));
    }
    if (!entry) shares[part] = Share<Q>(0.0);
  }
}

/// Whether a part of a technology comes from another file, which the user may not own.
bool is_from_file(const YamlEntry& part, const YamlEntry& technology) {
  const auto &of_part = part.value.place.source, &own = technology.place.source;
  return of_part && own && *of_part != *own;
}

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
  Technology technology;
  read_object(section, technology, messages);
  const YamlEntry* core = section.value.find("core");
  if (core && core->value.type == YamlNode::Type::Map && !speed_is_given) {
    MapReader reader(core->value, core->key, core->place, messages);
    for (const char* key : {"power", "frequency", "voltage"}) {
      if (is_from_file(*core, section) && !core->value.find(key)) {
        messages.add(
            section.place, section.key,
            fmt::format("its core has no '{}', so 'accelerator.frequency' is required in 'system'",
                        key));
      } else {
        reader.required(key, "required unless 'accelerator.frequency' is given");
      }
    }
  }
  return technology;
}

Budget read_budget(const YamlEntry& section, const Technology& technology,
                   InputMessages& messages) {
  Budget budget;
  read_object(section, budget, messages);
  const PerComponent<bool> is_there = parts_of(technology);
  const YamlEntry* edge = section.value.find("edge");
  settle_shares(section.value.find("area"), is_there, budget.area, messages);
  settle_shares(section.value.find("power"), is_there, budget.power, messages);
  settle_shares(edge, is_there, budget.edge, messages);
  return budget;
}

std::array<GivenLevel, kLevelNames.size()> read_given_levels(const YamlEntry& section,
                                                             const Technology& technology,
                                                             InputMessages& messages) {
  GivenLevelsSection text;
  read_object(section, text, messages);
  for (const YamlEntry& entry : section.value.entries) {
    for (const LevelName name : kLevelNames) {
      if (entry.key != name_of(name) || technology.level(name)) continue;
      messages.add(entry.place, entry.key, fmt::format("the technology has no '{}'", entry.key));
    }
  }
  return text.levels;
}

std::vector<OnChipLevel> read_levels(const YamlEntry& section, std::int64_t cores,
                                     std::int64_t bundle, InputMessages& messages) {
  LevelsSection text;
  read_object(section, text, messages);
  std::vector<OnChipLevel> levels;
  for (const LevelName name : kLevelNames) {
    const std::optional<LevelSection>& level = text.levels[static_cast<std::size_t>(name)];
    if (!level) continue;
    std::int64_t owners = 1;
    if (level->scope == LevelScope::Core) owners = cores;
    if (level->scope == LevelScope::Bundle) owners = std::max<std::int64_t>(1, cores / bundle);
    levels.push_back(
        {name, level->capacity / static_cast<double>(owners), level->bandwidth, level->latency});
  }
  return levels;
}

const Schema& schema_of(Rows<LevelSection>) {
  using L = LevelSection;
  static constexpr Field kFields[] = {
      field<&L::scope>("scope", "unit that has a level of its own", {.flags = kRequired}),
      field<&L::capacity>("capacity", "capacity of all levels of this name together",
                          {.limits = kSizeLimits, .flags = kRequired}),
      field<&L::bandwidth>("bandwidth", "bandwidth of all levels of this name together",
                           {.limits = kBandwidthLimits, .flags = kRequired}),
      field<&L::latency>("latency", "latency of one access", {.limits = kLatencyLimits})};
  return schema<L, kFields>("level");
}

const Schema& schema_of(Rows<LevelsSection>) {
  static constexpr Field kFields[] = {element<0, &LevelsSection::levels>("registers", ""),
                                      element<1, &LevelsSection::levels>("L1", ""),
                                      element<2, &LevelsSection::levels>("L2", "")};
  return schema<LevelsSection, kFields>("levels");
}

const Schema& schema_of(Rows<GivenLevel>) {
  static constexpr Field kFields[] = {
      field<&GivenLevel::capacity>("capacity", "capacity of all levels of this name together",
                                   {.limits = kSizeLimits, .preset = "derived"}),
      field<&GivenLevel::bandwidth>("bandwidth", "bandwidth of all levels of this name together",
                                    {.limits = kBandwidthLimits, .preset = "derived"})};
  return schema<GivenLevel, kFields>("given level");
}

const Schema& schema_of(Rows<GivenLevelsSection>) {
  static constexpr Field kFields[] = {element<0, &GivenLevelsSection::levels>("registers", ""),
                                      element<1, &GivenLevelsSection::levels>("L1", ""),
                                      element<2, &GivenLevelsSection::levels>("L2", "")};
  return schema<GivenLevelsSection, kFields>("given levels");
}

void check_design(const ChipDesign& design, const Machine& system, const YamlEntry& section,
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
    wrong("technology", "expected at least one level (registers, L1 or L2), or 'accelerator.sram'");
  }
  if (!design.technology.memory && !design.given.memory_bandwidth) {
    wrong("technology", "missing key 'memory': required unless 'memory.bandwidth' is given");
  }
  for (std::size_t d = 0; d < system.network.size(); ++d) {
    const DimensionPorts& dimension = design.dimensions[d];
    if (!dimension.link) continue;
    const char* name = name_of(*dimension.link);
    if (!design.technology.link(*dimension.link)) {
      wrong("technology",
            fmt::format("missing key '{}', which is the link of dimension {} of the network", name,
                        d));
    }
    const TopologyRow& row = row_of(system.network[d].topology);
    const bool grows = row.chip_ports(2.0) != row.chip_ports(3.0);
    if (grows && !system.network[d].degree && !dimension.ports) {
      wrong("network", fmt::format("dimension {}: expected 'degree' or 'ports', as the ports of a "
                                   "{} with a link depend on the degree",
                                   d, row.name));
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
    wrong("budget",
          fmt::format("missing key '{}.{}': set it, or set 'budget.step' to have it searched",
                      budget, name_of(part)));
  }
}

}  // namespace dfsearch
