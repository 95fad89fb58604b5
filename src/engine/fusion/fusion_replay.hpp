#pragma once
// Validates a partial fusion that was read from a file, and costs it.

#include <optional>
#include <string>
#include <unordered_map>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_rules.hpp"

namespace dfsearch {

/// Closes the partitions of a node again, one after the other, with the functions of the search; a
/// partition shared by several nodes is closed once.  Refers to the tables and to the partitions.
/// Used by one thread.
class FusionReplay {
 public:
  explicit FusionReplay(const FusionTables& tables)
      : tables_(tables), tree_(tables), rules_(tables), root_(tree_.root()) {}

  /// The first value of the node that is impossible or differs from the replayed partitions, the
  /// bound aside; nothing if all values are right.  Requires sets over the kernels of the tables.
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
  // The node after the partitions up to one; `closed` is not filled in.
  std::unordered_map<const ClosedPartition*, FusionNode> after_;
};

}  // namespace dfsearch
