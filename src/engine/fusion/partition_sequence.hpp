#pragma once
// Turns sets of kernels into partitions one after the other, with the rules, checks and costs of
// the tree.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/fusion/open_partition.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_rules.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// A fusion in the making.  Refers to the tables.  Used by one thread.
class PartitionSequence {
 public:
  explicit PartitionSequence(const FusionTables& tables);

  [[nodiscard]] const KernelSet& done() const { return done_; }
  /// The partitions so far, each with the least index that it may have.
  [[nodiscard]] const Fusion& fusion() const { return fusion_; }

  /// Closes these kernels, at least one, as the next partition.  Returns false and changes nothing
  /// if a producer is not done, or if rules, SRAM, cores or memory forbid it.
  bool close(const KernelSet& kernels);

 private:
  /// Time of the next partition if it has these kernels; kNever if they do not fit.
  [[nodiscard]] Ticks time_of_next(const KernelSet& kernels);

  const FusionTables& tables_;
  const PartitionRules rules_;
  OpenPartition next_;  // empty, after the closed partitions
  KernelSet done_;
  std::int32_t next_index_ = 0;
  Fusion fusion_;
};

/// The fusion whose partitions are these sets, in this order; nothing if the tables do not allow
/// it.  Empty sets are skipped.  Each kernel is in exactly one set.  Throws Stopped by the deadline
/// of the tables.
[[nodiscard]] std::optional<Fusion> fusion_of(const FusionTables& tables,
                                              const std::vector<KernelSet>& sets);

}  // namespace dfsearch
