#pragma once
// The machine: chips, their cores and memory, the network between them, what
// they cost and draw (docs/model.md, sections 2 and 8).  A System is a plain
// value; defaults are "costs nothing, holds everything".

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "model/machine/topology.hpp"

namespace dfsearch {

/// What a network dimension is used for.
enum class Strategy : std::uint8_t { Tensor, Pipeline, Data };

struct Accelerator {
  std::int64_t cores = 1;
  std::int64_t lanes = 1;   ///< systolic width of one core
  std::int64_t stages = 1;  ///< systolic height of one core
  Hertz frequency{};
  Bytes sram{};

  /// The FLOP/s of a chip: two for each lane, stage, core and cycle.
  /// docs/model.md (5)
  [[nodiscard]] FlopsPerSecond peak() const {
    return Flops(2.0 * static_cast<double>(lanes) * static_cast<double>(stages) *
                 static_cast<double>(cores)) *
           frequency;
  }
};

/// The memories of the die between the arrays of the cores and the memory, from the
/// inside out.
enum class LevelName : std::uint8_t { Registers, L1, L2 };
inline constexpr std::array kLevelNames = {LevelName::Registers, LevelName::L1, LevelName::L2};

/// A memory of the die as a kernel meets it (docs/technology.md, section 4).
struct OnChipLevel {
  LevelName name = LevelName::Registers;
  Bytes share{};               ///< what one of those that own such a memory has
  BytesPerSecond bandwidth{};  ///< of the whole chip
  Seconds latency{};           ///< of one access
};

/// A slower memory behind the first, for what that cannot hold.
struct SecondMemory {
  BytesPerSecond bandwidth{};  ///< at most that of the first
  Bytes capacity{};
};

struct Memory {
  BytesPerSecond bandwidth{};
  Bytes capacity = Bytes::infinity();
  std::optional<SecondMemory> second = std::nullopt;  ///< needs a finite capacity of the first

  [[nodiscard]] Bytes total_capacity() const {
    return second ? capacity + second->capacity : capacity;
  }
};

/// One dimension of the network, innermost first in System::network.
struct NetworkDimension {
  Topology topology = Topology::Ring;
  std::optional<std::int64_t> degree;  ///< left out: searched
  BytesPerSecond bandwidth{};          ///< of one link
  std::optional<Strategy> strategy;    ///< left out: searched
  Seconds latency{};                   ///< of one message over one link
};

struct Price {
  Dollars accelerator{};                  ///< per chip
  DollarsPerBandwidth memory{};           ///< per chip
  std::vector<DollarsPerBandwidth> link;  ///< per dimension
  DollarsPerBandwidth switch_port{};
};

struct Power {
  Watts accelerator{};
  WattsPerBandwidth memory{};
  std::vector<WattsPerBandwidth> link;
  WattsPerBandwidth switch_port{};
};

struct System {
  std::int64_t chips = 1;
  Accelerator accelerator;
  Memory memory;
  /// The product of the degrees is `chips`, or the chips of one copy of the workload.
  std::vector<NetworkDimension> network;
  Price price;
  Power power;
  /// From the inside out; they count with Execution::levels only.
  std::vector<OnChipLevel> levels;
};

}  // namespace dfsearch
