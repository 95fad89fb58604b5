#pragma once
// The energy of a run: static power of all chips for as long as it takes, and dynamic energy of its
// arithmetic, of its memory traffic and of its links, under a cap on the power of a chip
// (docs/energy.md).

#include <array>

#include "base/units.hpp"
#include "graph/math.hpp"

namespace dfsearch {

/// Of a FLOP, by Math; zero: not stated.
struct FlopEnergies {
  std::array<JoulesPerFlop, kMathCount> of{};

  friend bool operator==(const FlopEnergies&, const FlopEnergies&) = default;
};

/// Energies and powers of a chip.
struct EnergyRates {
  Watts idle{};  ///< static, with and without work
  Watts host{};  ///< share of a chip in the rest of its node
  FlopEnergies flop;
  JoulesPerByte memory{};
  JoulesPerByte link{};
  Watts cap = Watts::infinity();  ///< of a chip

  /// Of a format without one the energy of 16 bits, or else the greatest that is stated.
  [[nodiscard]] JoulesPerFlop of(Math math) const;
  [[nodiscard]] bool stated() const;
  friend bool operator==(const EnergyRates&, const EnergyRates&) = default;
};

/// Work of all chips together.
struct EnergyWork {
  Joules math{};
  Joules memory{};
  Joules links{};

  [[nodiscard]] Joules sum() const { return math + memory + links; }

  friend EnergyWork operator+(const EnergyWork& a, const EnergyWork& b) {
    return {a.math + b.math, a.memory + b.memory, a.links + b.links};
  }
  friend EnergyWork operator*(double factor, const EnergyWork& work) {
    return {factor * work.math, factor * work.memory, factor * work.links};
  }
};

/// The energy of a run, with the time that the cap leaves it.
struct Energy {
  double clock = 1.0;  ///< share of the full one that the cap allows
  Seconds time{};
  Joules idle{};  ///< static, hosts included
  EnergyWork work;

  [[nodiscard]] Joules sum() const { return idle + work.sum(); }
  [[nodiscard]] Watts power() const { return sum() / time; }
  /// The product of energy and delay.
  [[nodiscard]] double product() const { return sum().in_base_units() * time.in_base_units(); }
};

/// A run of `chips` chips that takes `time` at the full clock and does this work there.
Energy energy_of(const EnergyRates& rates, double chips, Seconds time, const EnergyWork& work);

/// Returns a lower bound on the energy at any clock, where all chips together are busy for at least
/// `chip_time` and do at least this work.
Joules energy_bound(const EnergyRates& rates, Seconds chip_time, Joules work);

}  // namespace dfsearch
