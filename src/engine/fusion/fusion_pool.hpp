#pragma once
// Fusions that were found, taken apart and put together anew.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "engine/duals/column_program.hpp"
#include "engine/duals/partition_pricing.hpp"
#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/allowance.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// The partitions of fusions of some tables, to which it refers, and the best fusion of any of
/// them: what it finds is a function of the fusions in the order in which they came and of the
/// steps.  Used by one thread.
class FusionPool {
 public:
  explicit FusionPool(const FusionTables& tables);

  /// Whether linear programs with a row for each kernel are small enough.
  [[nodiscard]] static bool is_possible(const FusionTables& tables);

  /// Adds its partitions.
  void add(const Fusion& fusion);

  /// Whether partitions of two fusions at least have come since the last time.
  [[nodiscard]] bool is_new() const { return new_from_ >= 2; }

  /// The best fusion of partitions of the pool that takes less than `below`; nothing if there is
  /// none, or if the steps, of some hundred operations each, are over before one is found.  Throws
  /// Stopped by the deadline of the tables.
  [[nodiscard]] std::optional<Fusion> best(Ticks below, std::int64_t steps);

 private:
  [[nodiscard]] PartitionDuals proved_duals();

  const FusionTables& tables_;
  PartitionPricing pricing_;
  ColumnProgram program_;
  std::vector<PartitionColumn> partitions_;
  std::unordered_set<KernelSet, KernelSetHash> known_;
  int new_from_ = 0;  // fusions since the last time
  MemoryCharge memory_;
};

}  // namespace dfsearch
