#pragma once
// Dual values of kernels that no partition undercuts: the strongest lower bound of the fusion
// (docs/search.md, 5.7).

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_rules.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// Time in parts of a tick, so that rounding duals costs less than a tick in all.
using FineTicks = std::int64_t;
inline constexpr FineTicks kFinePerTick = 256;
/// Exceeds the sum of all duals, so that twice the sum does not overflow.
inline constexpr FineTicks kGreatestDual = FineTicks{1} << 62;

/// Dual values of the kernels, by position, and of the number of partitions in each group
/// (PartitionRules).  Not negative.
struct Duals {
  std::vector<FineTicks> kernels;
  std::array<FineTicks, 2> charge{};
  friend bool operator==(const Duals&, const Duals&) = default;
};

struct PartitionColumn {
  KernelSet kernels;
  std::size_t group = 0;
  Ticks time = 0;        ///< of the partition
  FineTicks excess = 0;  ///< duals of its kernels less its time and charge
};

/// Lower bounds on the time of a partition, each a sum over its kernels.  With perfect overlap they
/// are compute, network and memory time; other overlaps add up the times that do not overlap.
using KernelParts = std::array<Ticks, 3>;
KernelParts parts(Overlap overlap, Ticks compute, Ticks network, Ticks memory);

/// Every partition takes at least the duals of its kernels less its charge.
struct PartitionDuals : Duals {
  /// Excess of a kernel's dual over each part of its time.
  std::vector<std::array<FineTicks, 3>> gains;

  [[nodiscard]] FineTicks of_rest(const KernelSet& done) const;
  /// The charges if every index from `next_index` on has a partition.
  [[nodiscard]] FineTicks charges(const PartitionRules& rules, std::int32_t next_index) const;
  /// Lower bound of the time of all fusions.
  [[nodiscard]] FineTicks bound(const PartitionRules& rules) const {
    return of_rest(KernelSet(kernels.size())) - charges(rules, 0);
  }
};

/// Adds the gains that follow from the tables.
void set_gains(const FusionTables& tables, PartitionDuals& duals);

/// The least whole number of ticks that is not below the dual.
constexpr Ticks ticks_of(FineTicks dual) {
  return dual / kFinePerTick + (dual % kFinePerTick > 0 ? 1 : 0);
}

}  // namespace dfsearch
