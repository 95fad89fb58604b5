#pragma once
// Partitions that duals overpay, grown kernel by kernel: soon found, but not all.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/duals/partition_pricing.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// Grows partitions that duals overpay.  It refers to the tables and to the pricing, whose
/// sets it makes.  Immutable; any thread may use it.
class PartitionGrowth {
 public:
  PartitionGrowth(const FusionTables& tables, const PartitionPricing& pricing);

  /// Which kernels may join a set.  Near: its neighbours, which takes a fraction of the time.  Far:
  /// any; kernels that compute and kernels that load may share a partition without a tensor between.
  enum class Reach : std::uint8_t { Near, Far };

  /// The best set met on the way from this kernel to one that nothing more goes into; nothing if
  /// its excess is not above the threshold.  Counts `steps` down.
  [[nodiscard]] std::optional<PartitionColumn> grow(std::size_t start, const Duals& duals,
                                                    FineTicks threshold, Reach reach,
                                                    std::int64_t& steps) const;

  /// What a kernel adds to the sums of a set.
  struct Added {
    Ticks memory = 0;
    Bytes sram{};
  };

 private:
  const FusionTables& tables_;
  const PartitionPricing& pricing_;
  std::vector<Added> alone_;  // by each kernel to nothing
};

}  // namespace dfsearch
