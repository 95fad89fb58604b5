#pragma once
// The linear program of column generation, in terms of kernels and partitions.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/duals/covering_lp.hpp"
#include "engine/duals/duals.hpp"
#include "engine/duals/kernel_classes.hpp"
#include "engine/duals/partition_pricing.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// Covers the kernels with the partitions known so far, at first each kernel alone, and proposes
/// duals, the same for all kernels of a class.  Refers to the tables and the pricing.  Used by one
/// thread, and what it finds does not depend on others that help.
class ColumnProgram {
 public:
  /// `alike` are the kernels of each class.  Other threads may help with the `work`, to which it
  /// refers; null: nobody does.
  ColumnProgram(const FusionTables& tables, const PartitionPricing& pricing, KernelClasses alike);

  /// As CoveringLp::solve; fails too if times are too long to be added up.
  [[nodiscard]] CoveringLp::Outcome solve(std::int64_t& steps);
  /// Of the last solution.
  [[nodiscard]] const Duals& duals() const { return duals_; }

  void add(const PartitionColumn& partition);

  [[nodiscard]] const KernelClasses& alike() const { return alike_; }
  /// Kernels of this class among them.
  [[nodiscard]] FineTicks count(const KernelSet& kernels, std::size_t alike) const;

  /// What its duals may be off by.
  static constexpr auto kNoise = static_cast<FineTicks>(CoveringLp::kNoise * kFinePerTick);

 private:
  [[nodiscard]] bool take_duals();

  const FusionTables& tables_;
  KernelClasses alike_;
  std::vector<std::uint32_t> class_of_;
  std::optional<CoveringLp> program_;
  Duals duals_;
};

}  // namespace dfsearch
