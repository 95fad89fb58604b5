#pragma once
// Partitions that cover the kernels, put in order.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/duals/duals.hpp"
#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

struct OrderedFusion {
  std::optional<Fusion> fusion;
  /// Without a fusion: whether there is none, as partitions each need another one done first;
  /// otherwise rules for indices or memory forbid the order that was tried, and another may do.
  bool is_cyclic = false;
};

/// The next partition is any whose producers are all done, if SRAM, rules and memory let it.  Each
/// kernel is in one of the partitions.  Throws Stopped by the deadline of the tables.
[[nodiscard]] OrderedFusion put_in_order(const FusionTables& tables,
                                         std::vector<const PartitionColumn*> partitions);

}  // namespace dfsearch
