#pragma once
// A good first fusion, found at once.

#include <optional>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// The best fusion whose partitions are segments of the topological order, each of
/// one phase, by dynamic programming; nothing if there is none, if kernels are pinned, or if
/// the graph is too large for it.  Throws Stopped by the deadline of the tables.
std::optional<Fusion> best_segments(const FusionTables& tables);

}  // namespace dfsearch
