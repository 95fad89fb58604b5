#pragma once
// The derivation of the chip, and of the machine with it, from the technology, the budget and given
// values (docs/technology.md, section 3).

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/machine/machine.hpp"
#include "technology/budget.hpp"
#include "technology/chip.hpp"
#include "technology/technology.hpp"

namespace dfsearch {

/// Number of ports among which the wires of a link are divided.
enum class LinkPorts : std::uint8_t {
  Topology,    ///< ring 2, switch 1, fully connected degree - 1, of every dimension
  FourAndOne,  ///< 4 inside the package and 1 out of it, for any dimensions
};
enum class BudgetSums : std::uint8_t { Checked, Unchecked };
/// Tiles that a GEMM alone on a chip may have.
enum class GemmTiles : std::uint8_t { All, Drawn };

/// The switches of docs/technology.md, section 6; the defaults are the preset `physical`.
struct TechnologyEquations {
  LinkPorts link_ports = LinkPorts::Topology;
  BudgetSums budget_sums = BudgetSums::Checked;
  VoltageFloor voltage_floor = VoltageFloor::Exact;
  GemmTiles gemm_tiles = GemmTiles::All;

  static TechnologyEquations physical() { return {}; }
  static TechnologyEquations published() {
    return {.link_ports = LinkPorts::FourAndOne,
            .budget_sums = BudgetSums::Unchecked,
            .gemm_tiles = GemmTiles::Drawn};
  }
};

/// Given values of a level; they override the budgets.
struct GivenLevel {
  std::optional<Bytes> capacity;
  std::optional<BytesPerSecond> bandwidth;  ///< before the utilization
};

/// Given values of the cores and memories of a chip.
struct GivenValues {
  std::optional<std::int64_t> cores;
  std::optional<Hertz> frequency;
  std::optional<Bytes> sram;
  std::array<GivenLevel, kLevelNames.size()> levels;  ///< by LevelName
  std::optional<BytesPerSecond> memory_bandwidth;     ///< after the utilization
  std::optional<Bytes> memory_capacity;
};

/// The link of a dimension of the network, and the number of ports that a chip has for it.
struct DimensionPorts {
  std::optional<LinkKind> link;       ///< left out: the dimension has its own bandwidth
  std::optional<std::int64_t> ports;  ///< left out: the ports that the topology needs
};

struct ChipDesign {
  Technology technology;
  Budget budget;
  GivenValues given;
  std::vector<DimensionPorts> dimensions;  ///< as in Machine::network
  TechnologyEquations equations;
};

/// The greatest whole number up to x (1 + 1e-12), at least 0 and at most 2^40, so that 0.3 * 100 /
/// 5 is 6.  It never falls when x grows.
std::int64_t whole_part(double x);

/// The chip of one split.  The network gives topologies and degrees; a fully connected
/// dimension without a degree needs its ports given.
Chip derive(const ChipDesign& design, const Split& split,
            const std::vector<NetworkDimension>& network);

/// The shortages of the classes of budgets that the split exceeds in total.
std::vector<Shortage> overspent(const ChipDesign& design, const Split& split);

/// Puts derived values into the machine, which has the given values already.
void put_into(const ChipDesign& design, const Chip& chip, Machine& system);

/// Whether cycles are counted, so that cores and frequency matter apart from their product.
enum class CycleUse : std::uint8_t { Counted, AtUtilization };

/// A chip that in each quantity is at least as good as every chip that can be built from a split
/// between `least` and `most`, part by part, except for rounding.  Nothing if none can be built.
std::optional<Chip> optimistic_chip(const ChipDesign& design, const Split& least, const Split& most,
                                    const std::vector<NetworkDimension>& network, CycleUse cycles);

}  // namespace dfsearch
