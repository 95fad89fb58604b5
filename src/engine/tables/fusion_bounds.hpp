#pragma once
// Lower bounds of the time and the SRAM of a layer's kernels that are left: sums to which kernels
// are added and from which they are subtracted one by one.

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
  std::array<Bytes, 2> sram{};           ///< per phase: least SRAM of all partitions together
  std::array<std::int64_t, 2> lonely{};  ///< per phase: kernels that must be alone
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
