#pragma once
// A technology to build a chip of: cores, on-chip memories, stacks of memory beside the die, and
// links (docs/technology.md, section 2).

#include <array>
#include <cstdint>
#include <optional>

#include "base/units.hpp"
#include "model/machine/machine.hpp"

namespace dfsearch {

/// The voltages of a part, and its nominal point, for which the power is known.
struct Transistors {
  Hertz frequency{};  ///< nominal clock; for a wire, its bits per second
  Volts voltage{};    ///< nominal, above the threshold
  Volts threshold{};
  Volts minimum{};  ///< least operating voltage: threshold + margin
  Volts maximum = Volts::infinity();
};

struct CoreTechnology {
  std::int64_t lanes = 1;
  std::int64_t stages = 1;
  std::int64_t bundle = 1;  ///< cores that share an L1 and a port to the L2
  Area area{};
  Watts power{};                           ///< of one core at its nominal point
  std::optional<Transistors> transistors;  ///< left out: the frequency of the chip is given
  std::optional<double> utilization;       ///< share of the peak that is reached; left out: 1
  std::optional<std::int64_t> fma;         ///< width of the multiply-add unit (published GEMM)
};

/// Unit of the chip that has its own copy of a level.
enum class LevelScope : std::uint8_t { Core, Bundle, Chip };

struct LevelTechnology {
  LevelScope scope = LevelScope::Chip;
  Bytes bank{};  ///< size of a bank
  AreaPerByte cell_area{};
  double overhead = 0.0;  ///< share of the level's area that is periphery, below 1
  Area port_area{};       ///< area of the crossbar for each pair of a bank and a bundle
  JoulesPerByte energy{};
  WattsPerByte leakage{};
  double utilization = 1.0;  ///< share of the bandwidth that is reached
  Seconds latency{};
};

struct MemoryTechnology {
  Bytes stack{};
  Area stack_area{};       ///< area of a stack in the package, beside the die
  Area controller_area{};  ///< on the die
  std::int64_t links_per_stack = 1;
  PerLength links_per_mm{};  ///< wires that cross a millimetre of the die's edge
  Transistors transistors;
  JoulesPerByte energy{};  ///< at the nominal voltage
  WattsPerByte leakage{};
  double utilization = 1.0;
  Seconds latency{};
};

struct LinkTechnology {
  Area area{};  ///< of one wire's driver on the die
  PerLength links_per_mm{};
  Transistors transistors;
  JoulesPerByte energy{};
  double utilization = 1.0;
  Seconds latency{};
};

/// Links inside a package and out of it.
enum class LinkKind : std::uint8_t { Intra, Inter };
inline constexpr std::array kLinkKinds = {LinkKind::Intra, LinkKind::Inter};

struct Technology {
  CoreTechnology core;
  std::array<std::optional<LevelTechnology>, kLevelNames.size()> levels;  ///< by LevelName
  std::optional<MemoryTechnology> memory;
  std::array<std::optional<LinkTechnology>, kLinkKinds.size()> links;  ///< by LinkKind

  [[nodiscard]] const std::optional<LevelTechnology>& level(LevelName name) const {
    return levels[static_cast<std::size_t>(name)];
  }
  [[nodiscard]] const std::optional<LinkTechnology>& link(LinkKind kind) const {
    return links[static_cast<std::size_t>(kind)];
  }
};

}  // namespace dfsearch
