#pragma once
// Looks for a fusion of partitions that the duals just pay for.

#include <cstdint>
#include <optional>

#include "engine/duals/partition_duals.hpp"
#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// A fusion whose time is the bound of the duals, if about so many steps find one: then it is
/// the best there is.  Throws Stopped by the deadline of the tables.
std::optional<Fusion> column_fusion(const FusionTables& tables, const PartitionDuals& duals,
                                    std::int64_t steps);

}  // namespace dfsearch
