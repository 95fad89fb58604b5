#pragma once
// What kernels are worth, and partitions that may not cost less.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/tables/fusion_tables.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// Time in parts of a tick, so that rounding duals costs less than a tick in all.
using FineTicks = std::int64_t;
inline constexpr FineTicks kFinePerTick = 256;
/// Above the sum of all duals; twice as much does not overflow.
inline constexpr FineTicks kGreatestDual = FineTicks{1} << 62;

/// What kernels are worth, by position, and what a partition of each group
/// (PartitionRules) pays for being one more.  Not negative.
struct Duals {
  std::vector<FineTicks> kernels;
  std::array<FineTicks, 2> charge{};
  friend bool operator==(const Duals&, const Duals&) = default;
};

/// A set of kernels that may be a partition.
struct PartitionColumn {
  KernelSet kernels;
  std::size_t group = 0;
  Ticks time = 0;         ///< what it takes
  FineTicks excess = 0;   ///< duals of its kernels less its time and charge
  std::int64_t size = 0;  ///< number of its kernels
};

/// The times that a partition takes at least, each a sum over its kernels: with perfect
/// overlap compute, network and memory; otherwise their sums as the overlap says.
using KernelParts = std::array<Ticks, 3>;
KernelParts parts(Overlap overlap, Ticks compute, Ticks network, Ticks memory);

}  // namespace dfsearch
