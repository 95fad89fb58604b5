#pragma once
// The sections `system`, `price`, `power` and `parallelism` of a config.  Each reader
// checks its own section; load_config.cpp checks what involves several.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "io/text/map_reader.hpp"
#include "model/problem.hpp"
#include "schema/schema.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// A machine, and the design of its chips if they are to be derived from a technology.
struct SystemText {
  Machine system;
  std::optional<ChipDesign> design;
};

/// The section `system`: with a `technology` in it the chips are derived.
extern const Type kSystemType;

struct AcceleratorText {
  Accelerator accelerator;
  std::int64_t bundle = 1;  ///< cores that share a memory of scope bundle
};
/// The memories of a chip; `second` needs a finite capacity of the first.
struct MemoryText {
  MemoryTier first;
  std::optional<MemoryTier> second;

  [[nodiscard]] std::vector<MemoryTier> tiers() const {
    return second ? std::vector{first, *second} : std::vector{first};
  }
};
/// The same of a chip that is derived from a technology.
struct GivenMemory;
struct DimensionText {
  NetworkDimension dimension;
  DimensionPorts ports;
  std::optional<std::int64_t> width;  ///< of its mesh; the degree is width * height
  std::optional<std::int64_t> height;
  std::optional<MeshSharing> sharing;
};
struct ParallelismText {
  std::array<DegreeChoice, 3> degrees;  ///< by Strategy
};

template <>
const Schema& schema_of<AcceleratorText>();
template <>
const Schema& schema_of<GivenValues>();
template <>
const Schema& schema_of<MemoryText>();
template <>
const Schema& schema_of<GivenMemory>();
template <>
const Schema& schema_of<DimensionText>();
template <>
const Schema& schema_of<ParallelismText>();

/// Whether a config is read for its chip alone: then it need not say how many there are.
enum class SystemUse : std::uint8_t { Whole, ChipAlone };

/// Complains of the dimensions whose chips a plan would have to place.
void refuse_meshes(const Machine& machine, const YamlEntry& section, InputMessages& messages);

/// Nothing if anything in the section is wrong.  The degrees are checked if the copies of
/// the workload are known.
std::optional<SystemText> read_system(const YamlEntry& section, std::optional<std::int64_t> copies,
                                      SystemUse use, InputMessages& messages);
/// Whether a search can go through the ways to use the network for so many chips.
void check_networks(const Machine& machine, std::int64_t chips, const YamlEntry& section,
                    InputMessages& messages);
/// The same of a plan, whose roles share the dimensions that are `divided`.
void check_divisions(const Machine& machine, const std::vector<bool>& divided,
                     const YamlEntry& section, InputMessages& messages);
void read_price(const YamlEntry& section, Machine& system, InputMessages& messages);
void read_power(const YamlEntry& section, Machine& system, InputMessages& messages);

/// Puts a derived chip into the machine and checks what could not be checked before;
/// `section` is that of the machine.
void settle_chip(const ChipDesign& design, const Chip& chip, const YamlEntry& section,
                 Machine& system, InputMessages& messages);

/// `parallelism: {tensor: 8, pipeline: [64, 128], data: ..4}`.
std::array<DegreeChoice, 3> read_parallelism(const YamlEntry& section, InputMessages& messages);

}  // namespace dfsearch
