#pragma once
// Duals of large graphs, soon: of memory time alone, block by block.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/duals/partition_duals.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// The blocks that kernels are cut into by their positions, each of at most so many, where the
/// tensors that lead from one to another are the least: the first kernel behind each block.
[[nodiscard]] std::vector<std::size_t> block_ends(const FusionTables& tables, std::size_t most);

/// Duals without a charge that no partition's memory time undercuts (docs/duals.md, section 7);
/// nothing if they are too high to be added up.  A block takes so many steps at the most; without
/// an end by then it has its explicit traffic.  A function of the tables.  Throws Stopped by
/// their deadline.
[[nodiscard]] std::optional<PartitionDuals> block_duals(const FusionTables& tables,
                                                        std::size_t most_kernels,
                                                        std::int64_t steps_of_block);

}  // namespace dfsearch
