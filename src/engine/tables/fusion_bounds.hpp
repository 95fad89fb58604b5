#pragma once
// Lower bounds of the time and the SRAM of the kernels that are left of a layer: sums that grow and
// shrink kernel by kernel.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "model/clock.hpp"

namespace dfsearch {

/// Lower bounds of the time that a set of kernels takes, each a sum over its
/// kernels (docs/search.md, section 5).
enum BoundRow : std::size_t {
  kComputeRow,        ///< compute, and network time that no compute can hide
  kComputeMemoryRow,  ///< compute, and memory time that no compute can hide
  kMemoryRow,         ///< tensors that must pass through memory
  kNetworkRow,        ///< network, and compute time that no network can hide
  kBoundRows,
};

/// Lower bounds on the cost of the kernels in no closed partition: a sum over kernels.
struct Rest {
  std::array<Ticks, kBoundRows> bound{};
  std::array<Bytes, 2> sram{};           ///< forward, backward: least that all partitions take
  std::array<std::int64_t, 2> lonely{};  ///< kernels that take a partition each
  std::array<std::int64_t, 2> kernels{};

  Rest& operator+=(const Rest& other);
  Rest& operator-=(const Rest& other);
};

class FusionTables;

/// The summands of Rest, per kernel: for any set of kernels their sum is a lower bound in each of
/// its rows (docs/search.md, section 5).  The tables must be complete except for these shares.
/// Throws Stopped.
std::vector<Rest> rest_shares(const FusionTables& tables);

}  // namespace dfsearch
