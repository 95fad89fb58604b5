#pragma once
// The sections `system`, `price`, `power` and `parallelism` of a config.  Each reader
// checks its own section; load_config.cpp checks what involves several.

#include <array>
#include <cstdint>
#include <optional>

#include "io/text/map_reader.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Nothing if anything in the section is wrong.  The degrees are checked if the copies of
/// the workload are known.
std::optional<System> read_system(const YamlEntry& section, std::optional<std::int64_t> copies,
                                  InputMessages& messages);
void read_price(const YamlEntry& section, System& system, InputMessages& messages);
void read_power(const YamlEntry& section, System& system, InputMessages& messages);

/// `parallelism: {tensor: 8, pipeline: [64, 128], data: ..4}`.
std::array<DegreeChoice, 3> read_parallelism(const YamlEntry& section, InputMessages& messages);

}  // namespace dfsearch
