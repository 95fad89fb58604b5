#pragma once
// The sections `system`, `price` and `power` of a config.  Each reader
// checks its own section; config_mapping.cpp checks the rules between sections.

#include <cstdint>
#include <optional>
#include <vector>

#include "io/config/config_network.hpp"
#include "io/text/map_reader.hpp"
#include "model/problem.hpp"
#include "schema/schema.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// A machine, and the design of its chips if they are to be derived from a technology.
struct SystemSection {
  Machine system;
  std::optional<ChipDesign> design;
};

/// The section `system`; its chips are derived if it has a `technology`.
extern const Type kSystemType;

struct AcceleratorSection {
  Accelerator accelerator;
  std::int64_t bundle = 1;  ///< cores that share a memory of scope bundle
};
/// The memories of a chip; `second` needs a finite capacity of the first.
struct MemorySection {
  MemoryTier first;
  std::optional<MemoryTier> second;

  [[nodiscard]] std::vector<MemoryTier> tiers() const {
    return second ? std::vector{first, *second} : std::vector{first};
  }
};
/// Memory of a chip that is derived from a technology: given values override derived ones.
struct GivenMemory;
/// The section `accelerator` of a chip that has peaks instead of cores.
struct GivenSram {
  Bytes sram{};
};
const Schema& schema_of(Rows<AcceleratorSection>);
const Schema& schema_of(Rows<GivenValues>);
const Schema& schema_of(Rows<MemoryTier>);
const Schema& schema_of(Rows<MemorySection>);
const Schema& schema_of(Rows<GivenMemory>);
const Schema& schema_of(Rows<GivenSram>);
/// The parts of a config that a command uses.  Only Whole requires the number of chips.
enum class SystemUse : std::uint8_t { Whole, ChipAlone, MachineAlone };

/// Returns nothing if anything in the section is wrong.  The degrees are checked if the copies of
/// the workload are known.
std::optional<SystemSection> read_system(const YamlEntry& section,
                                         std::optional<std::int64_t> copies, SystemUse use,
                                         InputMessages& messages);
/// Reads the sections `price`, `power` and `energy`; null for a machine that is wrong.
void read_prices(MapReader& reader, Machine* system);

/// Puts a derived chip into the machine and makes the checks that need it; `section` is `system`.
void resolve_defaults_of_chip(const ChipDesign& design, const Chip& chip, const YamlEntry& section,
                              Machine& system, InputMessages& messages);

}  // namespace dfsearch
