#pragma once
// The keys `technology` and `budget` of a system, the `levels` of its chips, and `link` and `ports`
// of dimensions (docs/technology.md, section 2).

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "io/text/map_reader.hpp"
#include "model/machine/machine.hpp"
#include "schema/schema.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// A given level of a chip: all its memories together.
struct LevelSection {
  LevelScope scope = LevelScope::Chip;
  Bytes capacity{};
  BytesPerSecond bandwidth{};
  Seconds latency{};
};
struct LevelsSection {
  std::array<std::optional<LevelSection>, kLevelNames.size()> levels;
};
struct GivenLevelsSection {
  std::array<GivenLevel, kLevelNames.size()> levels;
};
const Schema& schema_of(Rows<LevelSection>);
const Schema& schema_of(Rows<LevelsSection>);
const Schema& schema_of(Rows<GivenLevel>);
const Schema& schema_of(Rows<GivenLevelsSection>);

/// Unless `speed_is_given`, a core needs all keys from which its frequency is derived.
Technology read_technology(const YamlEntry& section, bool speed_is_given, InputMessages& messages);

Budget read_budget(const YamlEntry& section, const Technology& technology, InputMessages& messages);

/// Given values of the levels of a chip with a technology.
std::array<GivenLevel, kLevelNames.size()> read_given_levels(const YamlEntry& section,
                                                             const Technology& technology,
                                                             InputMessages& messages);

/// The complete levels of a chip without a technology; `cores` and `bundle` are the numbers of
/// cores that share them.
std::vector<OnChipLevel> read_levels(const YamlEntry& section, std::int64_t cores,
                                     std::int64_t bundle, InputMessages& messages);

/// Checks of a design that involve several sections; `section` is the technology.
void check_design(const ChipDesign& design, const Machine& system, const YamlEntry& section,
                  InputMessages& messages);

}  // namespace dfsearch
