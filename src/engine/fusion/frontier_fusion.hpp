#pragma once
// A fusion of the partitions that duals pay for, one after the other.

#include <cstdint>
#include <optional>

#include "engine/duals/partition_duals.hpp"
#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// A fusion that is good where the duals are; nothing if there is none or it takes more steps, which
/// are counted down.  A function of the tables and the duals.  Throws Stopped by the deadline of
/// the tables.
[[nodiscard]] std::optional<Fusion> frontier_fusion(const FusionTables& tables,
                                                    const PartitionDuals& duals,
                                                    std::int64_t& steps);

}  // namespace dfsearch
