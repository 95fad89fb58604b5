#pragma once
// The keys `technology` and `budget` of a system, and what is written of its chips: `levels`,
// `link` and `ports` of dimensions (docs/technology.md, section 2).

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "io/text/map_reader.hpp"
#include "model/machine/system.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// Without `speed_is_given` a core needs all that its frequency is derived from.
Technology read_technology(const YamlEntry& section, bool speed_is_given, InputMessages& messages);

/// The budget of the parts that the technology has.
Budget read_budget(const YamlEntry& section, const Technology& technology, InputMessages& messages);

/// What is known of the levels of a chip with a technology.
std::array<GivenLevel, kLevelNames.size()> read_given_levels(const YamlEntry& section,
                                                             const Technology& technology,
                                                             InputMessages& messages);

/// The levels of a chip without a technology, whole; `cores` and `bundle` say how many share
/// them.
std::vector<OnChipLevel> read_levels(const YamlEntry& section, std::int64_t cores,
                                     std::int64_t bundle, InputMessages& messages);

/// The switches of the technology, which the reader of `equations` passes by.
void read_technology_switches(MapReader& reader, TechnologyEquations& equations);

/// Checks of a design that involve several sections; `section` is the technology.
void check_design(const ChipDesign& design, const System& system, const YamlEntry& section,
                  InputMessages& messages);

}  // namespace dfsearch
