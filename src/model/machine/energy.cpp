// Dynamic energy is proportional to the square of the voltage, and the voltage to the clock
// (Horowitz, "Computing's energy problem", 2014); static energy is proportional to the time.
// Tested against other clocks: tests/model/machine/energy_test.cpp.

#include "model/machine/energy.hpp"

#include <algorithm>
#include <cmath>

namespace dfsearch {

JoulesPerFlop EnergyRates::of(Math math) const {
  for (const Math each : {math, Math::Bf16, Math::Fp16}) {
    const JoulesPerFlop own = flop.of[static_cast<std::size_t>(each)];
    if (own > JoulesPerFlop{}) return own;
  }
  return *std::max_element(flop.of.begin(), flop.of.end());
}

bool EnergyRates::stated() const { return *this != EnergyRates(); }

// docs/energy.md (1), (2)
Energy energy_of(const EnergyRates& rates, double chips, Seconds time, const EnergyWork& work) {
  Energy energy{.time = time, .idle = {}, .work = work};
  const Watts drawn = work.sum() / (chips * time);
  const Watts left = rates.cap - rates.idle;
  if (drawn > left) {
    energy.clock = std::cbrt(std::max(0.0, left / drawn));
    energy.time = time / energy.clock;
  }
  const double scale = energy.clock * energy.clock;
  energy.work = {scale * work.math, scale * work.memory, scale * work.links};
  energy.idle = chips * (rates.idle + rates.host) * energy.time;
  return energy;
}

// docs/energy.md (3), (4)
Joules energy_bound(const EnergyRates& rates, Seconds chip_time, Joules work) {
  const Joules idle = (rates.idle + rates.host) * chip_time;
  if (2.0 * work <= idle) return idle + work;
  const double a = idle.in_base_units();
  const double w = work.in_base_units();
  return Joules(3.0 * std::cbrt(a * a * w / 4.0));
}

}  // namespace dfsearch
