// Speed is proportional to (V - threshold)^2 / V, the alpha-power law with exponent 2, and
// dynamic power to frequency times V^2.  The voltage for a power is a root of a cubic, found by
// bisection over doubles.  Each operation of the cubic is monotone, so voltage and frequency are
// monotone in the power to the last bit.  The bounds of a search over budgets need this
// (docs/search.md), and Newton's method does not guarantee it.

#include "technology/chip.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.hpp"

namespace dfsearch {
namespace {

double cubic(double voltage, double threshold) {
  const double overdrive = voltage - threshold;
  return voltage * (overdrive * overdrive);
}

/// A number proportional to the speed: (V - t)^2 / V, as a product of two factors that each
/// grow with V, even when rounded.
// docs/technology.md (2)
double speed(Volts voltage, Volts threshold) {
  return (voltage - threshold).in_base_units() * (1.0 - threshold / voltage);
}

}  // namespace

// docs/technology.md (3)
Volts voltage_of_power(const Transistors& transistors, double share) {
  const double threshold = transistors.threshold.in_base_units();
  const double limit = share * cubic(transistors.voltage.in_base_units(), threshold);
  double low = threshold;  // the left side is 0 there
  double high = std::max(1.0, 2.0 * threshold);
  while (cubic(high, threshold) <= limit) high *= 2.0;
  DFSEARCH_ASSERT(std::isfinite(high));
  // Positive doubles are ordered as their bits are.
  auto below = std::bit_cast<std::uint64_t>(low);
  auto above = std::bit_cast<std::uint64_t>(high);
  while (above - below > 1) {
    const std::uint64_t middle = below + (above - below) / 2;
    (cubic(std::bit_cast<double>(middle), threshold) <= limit ? below : above) = middle;
  }
  return Volts(std::bit_cast<double>(below));
}

// docs/technology.md (4)
OperatingPoint operating_point(const Transistors& transistors, Watts power, Watts nominal,
                               VoltageFloor floor) {
  if (power <= Watts{} || nominal <= Watts{}) return {};
  const Volts threshold = transistors.threshold;
  const Hertz unit = transistors.frequency / speed(transistors.voltage, threshold);
  const double share = power / nominal;
  const Volts voltage = voltage_of_power(transistors, share);
  if (voltage > transistors.maximum) {
    return {transistors.maximum, unit * speed(transistors.maximum, threshold),
            SpeedLimit::MaximumVoltage};
  }
  if (voltage >= transistors.minimum) {
    return {voltage, unit * speed(voltage, threshold), SpeedLimit::Power};
  }
  // The clock falls at the least voltage.  It is limited to the speed at that voltage, since
  // rounding could make it faster.
  const Hertz fastest = unit * speed(transistors.minimum, threshold);
  const double squared =
      (transistors.voltage / transistors.minimum) * (transistors.voltage / transistors.minimum);
  Hertz frequency = transistors.frequency * share * squared;
  if (floor == VoltageFloor::Squared) {
    frequency = fastest * ((voltage / transistors.minimum) * (voltage / transistors.minimum));
  }
  return {transistors.minimum, std::min(frequency, fastest), SpeedLimit::MinimumVoltage};
}

// docs/technology.md (5)
Watts drawn_power(const Transistors& transistors, const OperatingPoint& point, Watts nominal) {
  const double voltage = point.voltage / transistors.voltage;
  return nominal * ((point.frequency / transistors.frequency) * (voltage * voltage));
}

}  // namespace dfsearch
