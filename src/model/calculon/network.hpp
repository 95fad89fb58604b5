#pragma once
// The networks of Calculon's equations: dimensions of which any may serve any kind of parallelism.

#include "base/units.hpp"
#include "model/machine/machine.hpp"

namespace dfsearch::calculon {

/// The time of an operation on a value of so many bytes in whole.
// docs/calculon.md (C2)
[[nodiscard]] inline Seconds operation_time(const NetworkDimension& network, Operation operation,
                                            Bytes whole, double members) {
  const MeasuredNetwork& measured = *network.measured;
  const MeasuredNetwork::Scale& scale = measured.operations[static_cast<std::size_t>(operation)];
  return network.latency + scale.factor * whole * (1.0 + scale.offset / members) /
                               (network.bandwidth * measured.efficiency);
}

}  // namespace dfsearch::calculon
