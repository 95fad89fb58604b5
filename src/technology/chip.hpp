#pragma once
// A chip that is derived from a technology and a split of the budgets, and the voltage and
// frequency at which a part of a chip uses up its power (docs/technology.md, section 3).

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "base/words.hpp"
#include "model/machine/machine.hpp"
#include "technology/budget.hpp"
#include "technology/technology.hpp"

namespace dfsearch {

/// The limit that determines the frequency of a part.
enum class SpeedLimit : std::uint8_t { Power, MinimumVoltage, MaximumVoltage, Given };

/// The power below the least voltage in the public code (docs/technology.md, section 6).
enum class VoltageFloor : std::uint8_t {
  Exact,    ///< equal to the available power
  Squared,  ///< more than it, as in later versions for cores and memory
};

struct OperatingPoint {
  Volts voltage{};
  Hertz frequency{};
  SpeedLimit limit = SpeedLimit::Power;
};

/// The greatest double V for which V (V - threshold)^2, computed in this order, is at most
/// V_n (V_n - threshold)^2 times `share`, the available power over the nominal power.
Volts voltage_of_power(const Transistors& transistors, double share);

/// The point at which units that run together draw at most `power`, if they draw `nominal` at their
/// nominal point.  The frequency never falls when the power grows, to the last bit.
OperatingPoint operating_point(const Transistors& transistors, Watts power, Watts nominal,
                               VoltageFloor floor = VoltageFloor::Exact);

Watts drawn_power(const Transistors& transistors, const OperatingPoint& point, Watts nominal);

/// The limit that determines a number of parts.
enum class CountLimit : std::uint8_t {
  DieArea,
  Package,  ///< the area of the package beside the die
  Edge,     ///< the edge of the die
  Stack,    ///< the wires of the stacks
  Given,
};

struct ChipCore {
  std::int64_t cores = 0;
  std::int64_t bundles = 0;
  OperatingPoint point;
  std::int64_t flops_per_cycle = 0;  ///< of one core
  FlopsPerSecond peak{};
  double utilization = 1.0;
  FlopsPerSecond usable{};
  CountLimit held_by = CountLimit::DieArea;
};

struct ChipLevel {
  LevelName name = LevelName::Registers;
  LevelScope scope = LevelScope::Chip;
  std::int64_t banks = 0;
  Bytes capacity{};  ///< of all copies together
  Bytes share{};     ///< capacity of the copy of one core, bundle or chip
  Watts leakage{};
  BytesPerSecond raw_bandwidth{};
  BytesPerSecond bandwidth{};  ///< reached bandwidth
  Seconds latency{};
  bool given_capacity = false;
  bool given_bandwidth = false;
};

struct ChipMemory {
  std::int64_t stacks = 0;
  CountLimit stacks_held_by = CountLimit::Package;
  std::int64_t links = 0;
  CountLimit links_held_by = CountLimit::Stack;
  std::int64_t edge_links = 0;  ///< number of links that its edge would allow
  OperatingPoint point;
  Watts leakage{};
  BytesPerSecond raw_bandwidth{};
  BytesPerSecond bandwidth{};
  Bytes capacity{};
  Seconds latency{};
};

struct ChipLink {
  LinkKind kind = LinkKind::Inter;
  std::int64_t wires = 0;
  CountLimit held_by = CountLimit::DieArea;
  OperatingPoint point;
  BytesPerSecond bandwidth{};
  std::int64_t ports = 0;  ///< 0: no dimension of the network has this link
  BytesPerSecond port_bandwidth{};
  Seconds latency{};
};

/// The class of a budget that does not suffice.
enum class BudgetClass : std::uint8_t { DieArea, Power, Edge, Package };

/// A reason why a chip cannot be built: the share of `part` is too small or, if `part` is empty,
/// all parts together exceed a budget.
struct Shortage {
  std::optional<Component> part;
  BudgetClass budget = BudgetClass::DieArea;
  double needed = 0.0;     ///< mm2, W or mm
  double available = 0.0;  ///< in the unit of `needed`
  bool more_than = false;  ///< `needed` itself is not enough
};

struct Chip {
  Split split;
  ChipCore core;
  std::vector<ChipLevel> levels;  ///< from the inside out
  std::optional<ChipMemory> memory;
  std::array<std::optional<ChipLink>, kLinkKinds.size()> links;  ///< by LinkKind
  /// The power of each part; nothing if a given value replaces it.
  PerComponent<std::optional<Watts>> power;
  std::vector<Shortage> infeasible;

  /// The power of the chip; parts with a given speed count with their budgets.
  [[nodiscard]] Watts drawn() const;
};

constexpr auto words(Component) {
  return named<Component>("core", "registers", "L1", "L2", "memory", "intra", "inter");
}
constexpr auto words(LinkKind) { return named<LinkKind>("intra", "inter"); }
constexpr auto words(LevelScope) { return named<LevelScope>("core", "bundle", "chip"); }
constexpr auto words(SpeedLimit) {
  return named<SpeedLimit>("power", "minimum voltage", "maximum voltage", "given");
}
constexpr auto words(CountLimit) {
  return named<CountLimit>("area", "package", "edge", "stacks", "given");
}
constexpr auto words(BudgetClass) { return named<BudgetClass>("area", "power", "edge", "package"); }

}  // namespace dfsearch
