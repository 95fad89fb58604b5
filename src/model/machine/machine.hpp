#pragma once
// The machine: chips, their cores and memory, the network between them, their price and power
// (docs/model.md, sections 2 and 8).  A Machine is a plain value; defaults are "costs nothing,
// holds everything".

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "base/words.hpp"
#include "model/machine/energy.hpp"
#include "model/machine/mesh_placement.hpp"
#include "model/machine/peaks.hpp"
#include "model/machine/rates.hpp"
#include "model/machine/topology.hpp"

namespace dfsearch {

/// The data that is kept in the second memory and fetched layer by layer, or block by block.
struct Offload {
  bool weights = false;
  bool activations = false;
  bool optimizer = false;

  [[nodiscard]] bool any() const { return weights || activations || optimizer; }
  friend auto operator<=>(const Offload&, const Offload&) = default;
};

/// The use of a network dimension.
enum class Strategy : std::uint8_t { Tensor, Pipeline, Data };
constexpr auto words(Strategy) { return named<Strategy>("tensor", "pipeline", "data"); }

/// The operand of a product that stays in the arrays of the cores while the others stream.
enum class Dataflow : std::uint8_t {
  Output,
  Weight,
  Input,
  Best,  ///< the dataflow of fewest cycles for each kernel and grid of cores
};
constexpr auto words(Dataflow) { return named<Dataflow>("output", "weight", "input", "best"); }

struct Accelerator {
  std::int64_t cores = 1;
  std::int64_t lanes = 1;   ///< systolic width of one core
  std::int64_t stages = 1;  ///< systolic height of one core
  Hertz frequency{};
  Bytes sram{};
  Dataflow dataflow = Dataflow::Output;

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
constexpr auto words(LevelName) { return named<LevelName>("registers", "L1", "L2"); }
inline constexpr std::array kLevelNames = {LevelName::Registers, LevelName::L1, LevelName::L2};

/// A memory of the die as a kernel uses it (docs/technology.md, section 4).
struct OnChipLevel {
  LevelName name = LevelName::Registers;
  Bytes share{};               ///< capacity of one such memory
  BytesPerSecond bandwidth{};  ///< of the whole chip
  Seconds latency{};           ///< of one access
};

/// The operations of a network for the chips of one kind of parallelism.
enum class Operation : std::uint8_t { PointToPoint, ReduceScatter, AllGather, AllReduce };
inline constexpr std::size_t kOperations = 4;

/// Measurements of a network, which replace its topology.
struct MeasuredNetwork {
  /// An operation on Z bytes takes as long as factor·Z·(1 + offset/members) bytes on the link.
  struct Scale {
    double factor = 1.0;
    double offset = 0.0;
  };

  bool filled = false;  ///< the degrees that use the network must fill its groups evenly
  double efficiency = 1.0;
  double processor_usage = 0.0;  ///< share of the processor that communication takes; below 1
  std::array<Scale, kOperations> operations{};
};

/// One dimension of the network; Machine::network lists the innermost dimension first.
struct NetworkDimension {
  Topology topology = Topology::Ring;
  std::optional<std::int64_t> degree;  ///< left out: searched
  BytesPerSecond bandwidth{};          ///< of one link
  std::optional<Strategy> strategy;    ///< left out: searched
  Seconds latency{};                   ///< of one message over one link
  /// A mesh of chips, on which plans place axes; the degree follows from the mesh, and rings run
  /// over its links.
  std::optional<Mesh> mesh = std::nullopt;
  /// Replaces the topology in Calculon's equations.
  std::optional<MeasuredNetwork> measured = std::nullopt;
  /// The members that the machine has, if fewer are used.
  std::optional<std::int64_t> whole = std::nullopt;
  /// Whether collectives use both directions of the links.  Neighbouring dimensions that do, and
  /// are not meshes, are the axes of a torus, which work at once.
  bool both_ways = false;
};

/// The name of the topology of a dimension, meshes included.
inline const char* topology_name(const NetworkDimension& dimension) {
  if (!dimension.mesh) return name_of(dimension.topology);
  return dimension.mesh->closed ? "torus2d" : "mesh";
}

/// Dollars or watts of a chip by its TFLOP/s, as a polynomial.
struct RateByPeak {
  std::vector<double> polynomial;  ///< coefficients, the highest power first
  /// If coefficients are fitted: the degree, and the pairs of TFLOP/s and rate that they fit.
  std::int64_t degree = 2;
  std::vector<std::pair<double, double>> chips;

  [[nodiscard]] double at(FlopsPerSecond peak) const;
};

struct Price {
  Dollars accelerator{};                  ///< per chip
  std::optional<RateByPeak> by_peak;      ///< replaces `accelerator` if given
  DollarsPerBandwidth memory{};           ///< per chip
  std::vector<DollarsPerBandwidth> link;  ///< per dimension
  DollarsPerBandwidth switch_port{};
};

struct Power {
  Watts accelerator{};
  std::optional<RateByPeak> by_peak;
  WattsPerBandwidth memory{};
  std::vector<WattsPerBandwidth> link;
  WattsPerBandwidth switch_port{};
};

struct Machine {
  std::int64_t chips = 1;
  Accelerator accelerator;
  /// Rates of kernels that run one by one, in plans and executions; mappings count the cores.
  Engine matrix;
  Engine vector;
  /// Peaks by number format; none stated: the peak of the cores serves all.
  Peaks peaks;
  bool counts_cores = true;  ///< false: only the peaks are known, and no cycles are counted
  /// At least one tier.  Data beyond the capacity of the first is in the others, which are slower.
  std::vector<MemoryTier> memory = std::vector<MemoryTier>(1);
  /// The product of the degrees is `chips`, or the chips of one copy of the workload.
  std::vector<NetworkDimension> network;
  Price price;
  Power power;
  EnergyRates energy;
  /// Listed from the inside out; they count with Execution::levels only.
  std::vector<OnChipLevel> levels;

  /// The FLOP/s of a chip in dense products.
  [[nodiscard]] FlopsPerSecond peak() const {
    return matrix.peak > FlopsPerSecond{} ? matrix.peak : accelerator.peak();
  }
  /// Null if there is one memory only.
  [[nodiscard]] const MemoryTier* second_memory() const {
    return memory.size() > 1 ? &memory[1] : nullptr;
  }
  /// The capacity of a chip over all tiers.
  [[nodiscard]] Bytes memory_capacity() const {
    Bytes all{};
    for (const MemoryTier& tier : memory) all += tier.capacity;
    return all;
  }
};

/// The polynomial of this degree that fits the points by least squares, as coefficients with the
/// highest power first.  The points have more than `degree` different x.
std::vector<double> least_squares(std::span<const std::pair<double, double>> points,
                                  std::size_t degree);

}  // namespace dfsearch
