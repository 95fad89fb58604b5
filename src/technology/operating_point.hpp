#pragma once
// The voltage and the frequency at which a part of a chip spends the power it has
// (docs/technology.md, section 3).

#include <cstdint>

#include "base/units.hpp"
#include "technology/technology.hpp"

namespace dfsearch {

/// The limit that determines the frequency of a part.
enum class SpeedLimit : std::uint8_t { Power, MinimumVoltage, MaximumVoltage, Given };

/// The power below the least voltage in the public code (docs/technology.md, section 6).
enum class VoltageFloor : std::uint8_t {
  Exact,    ///< the power there is
  Squared,  ///< more, as later versions of it do for cores and memory
};

struct OperatingPoint {
  Volts voltage{};
  Hertz frequency{};
  SpeedLimit limit = SpeedLimit::Power;
};

/// The greatest double V for which V (V - threshold)^2, computed in this order, is at most
/// V_n (V_n - threshold)^2 times `share`, the power there is over the nominal power.
Volts voltage_of_power(const Transistors& transistors, double share);

/// The point where units that run together draw `power` at most, if they draw `nominal` at their
/// nominal point.  The frequency never falls when the power grows, to the last bit.
OperatingPoint operating_point(const Transistors& transistors, Watts power, Watts nominal,
                               VoltageFloor floor = VoltageFloor::Exact);

/// The power that they draw there.
Watts drawn_power(const Transistors& transistors, const OperatingPoint& point, Watts nominal);

}  // namespace dfsearch
