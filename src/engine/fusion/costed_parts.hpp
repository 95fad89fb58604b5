#pragma once
// From sets of kernels to a fusion that is costed, and back.

#include <optional>
#include <vector>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// The fusion whose partitions are these sets, one after the other, with the least indices that
/// they may have and what it takes by the tables; nothing if it is none of theirs.  Sets that are
/// empty do not count.  All kernels are in one set each.
std::optional<Fusion> costed_parts(const FusionTables& tables, const std::vector<KernelSet>& sets);

/// The sets of kernels of a fusion of these tables, in the order in which they run; none is empty.
std::vector<KernelSet> parts_of(const FusionTables& tables, const Fusion& fusion);

}  // namespace dfsearch
