#pragma once
// The energy of a run: static energy of all chips during the run, and dynamic energy of arithmetic,
// of memory traffic and of links, under a cap on the power of a chip
// (docs/energy.md).

#include <array>

#include "base/units.hpp"
#include "graph/math.hpp"

namespace dfsearch {

/// The energy of a FLOP by Math; zero if it is not stated.
struct FlopEnergies {
  std::array<JoulesPerFlop, kMathCount> of{};

  friend bool operator==(const FlopEnergies&, const FlopEnergies&) = default;
};

/// Energies and powers of a chip.
struct EnergyRates {
  Watts idle{};  ///< static, with and without work
  Watts host{};  ///< a chip's share in the power of the rest of its node
  FlopEnergies flop;
  JoulesPerByte memory{};
  JoulesPerByte link{};
  Watts cap = Watts::infinity();  ///< limit of the power of a chip

  /// The energy of a FLOP in a format; if it is not stated, the energy in 16 bits, or else the
  /// greatest energy that is stated.
  [[nodiscard]] JoulesPerFlop of(Math math) const;
  [[nodiscard]] bool stated() const;
  friend bool operator==(const EnergyRates&, const EnergyRates&) = default;
};

/// The dynamic energy of all chips together, by the kind of work.
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
  double clock = 1.0;  ///< share of the full clock that the cap allows
  Seconds time{};
  Joules idle{};  ///< static, hosts included
  EnergyWork work;

  [[nodiscard]] Joules sum() const { return idle + work.sum(); }
  [[nodiscard]] Watts power() const { return sum() / time; }
  /// The product of energy and delay.
  [[nodiscard]] double product() const { return sum().in_base_units() * time.in_base_units(); }
};

/// The energy of a run of `chips` chips that at the full clock takes `time` and needs `work`.
Energy energy_of(const EnergyRates& rates, double chips, Seconds time, const EnergyWork& work);

/// Returns a lower bound on the energy at any clock of a run that at the full clock takes at least
/// `chip_time` chip-seconds and needs at least `work`.
Joules energy_bound(const EnergyRates& rates, Seconds chip_time, Joules work);

}  // namespace dfsearch
