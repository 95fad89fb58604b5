#pragma once
// Dual values of kernels that no partition undercuts: the strongest lower bound of the fusion
// (docs/search.md, 5.7).

#include <array>
#include <cstdint>
#include <vector>

#include "engine/duals/duals.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_rules.hpp"

namespace dfsearch {

/// Every partition takes at least the duals of its kernels less its charge.
struct PartitionDuals : Duals {
  /// By how much a kernel's dual exceeds each part of its time.
  std::vector<std::array<FineTicks, 3>> gains;

  /// The duals of all that is not done.
  [[nodiscard]] FineTicks of_rest(const KernelSet& done) const;
  /// The charges of as many partitions as there may be from this index on.
  [[nodiscard]] FineTicks charges(const PartitionRules& rules, std::int32_t next_index) const;
  /// What all fusions take at least.
  [[nodiscard]] FineTicks bound(const PartitionRules& rules) const {
    return of_rest(KernelSet(kernels.size())) - charges(rules, 0);
  }
};

/// Sets the gains of duals of these tables.
void set_gains(const FusionTables& tables, PartitionDuals& duals);

/// The least whole number of ticks that is not below the dual.
constexpr Ticks ticks_of(FineTicks dual) {
  return dual / kFinePerTick + (dual % kFinePerTick > 0 ? 1 : 0);
}

}  // namespace dfsearch
