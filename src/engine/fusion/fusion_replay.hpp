#pragma once
// Validates a partial fusion that was read from a file, and costs it.

#include <optional>
#include <string>
#include <unordered_map>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_rules.hpp"

namespace dfsearch {

/// Closes the partitions of a node again, one after the other, with the functions of the search.  A
/// partition that several nodes share is closed once.  Refers to the tables and to the partitions.
/// Used by one thread.
class FusionReplay {
 public:
  explicit FusionReplay(const FusionTables& tables)
      : tables_(tables), tree_(tables), rules_(tables), root_(tree_.root()) {}

  /// Describes a value of the node that is impossible or differs from the replayed partitions;
  /// nothing if all are right.  The bound is not checked.  The sets of the node must be over the
  /// kernels of the tables.
  [[nodiscard]] std::optional<std::string> wrong_in(const FusionNode& node);

 private:
  using Wrong = std::optional<std::string>;
  Wrong close(const ClosedPartition& partition, FusionNode& node) const;
  Wrong check_members(const KernelSet& kernels, const FusionNode& node) const;
  Wrong check_opened(const FusionNode& node) const;
  [[nodiscard]] const std::string& name(std::size_t position) const;

  const FusionTables& tables_;
  FusionTree tree_;
  PartitionRules rules_;
  const FusionNode root_;
  // The node after each partition and all before it; its `closed` is not filled in.
  std::unordered_map<const ClosedPartition*, FusionNode> after_;
};

}  // namespace dfsearch
