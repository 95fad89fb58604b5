#pragma once
// The machine of Calculon's equations: engines, memories and networks whose rates depend on the
// amount of work.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "model/machine/rates.hpp"

namespace dfsearch::calculon {

/// What a network does for the chips of one kind of parallelism.
enum class Operation : std::uint8_t { PointToPoint, ReduceScatter, AllGather, AllReduce };
inline constexpr std::size_t kOperations = 4;

/// A network: groups of `size` chips, joined by links of one bandwidth.
struct Network {
  /// An operation on Z bytes takes as long as factor·Z·(1 + offset/members) bytes on the link.
  struct Scale {
    double factor = 1.0;
    double offset = 0.0;
  };

  std::int64_t size = 1;
  bool filled = false;  ///< the degrees that use it must fill its groups evenly
  BytesPerSecond bandwidth{};
  double efficiency = 1.0;
  Seconds latency{};
  double processor_usage = 0.0;  ///< share of the processor that communication takes; below 1
  std::array<Scale, kOperations> operations{};

  /// The time of an operation on a value of so many bytes in whole.
  // docs/calculon.md (C2)
  [[nodiscard]] Seconds time(Operation operation, Bytes whole, double members) const {
    const Scale& scale = operations[static_cast<std::size_t>(operation)];
    return latency +
           scale.factor * whole * (1.0 + scale.offset / members) / (bandwidth * efficiency);
  }
};

/// All chips are alike.  At least one network; `second` is a memory to offload to, if there is one.
struct Machine {
  std::int64_t chips = 1;
  Engine matrix;
  Engine vector;
  MemoryTier memory;
  std::optional<MemoryTier> second;
  std::vector<Network> networks;
};

}  // namespace dfsearch::calculon
