#pragma once
// A good first fusion, found at once.

#include <optional>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// The best fusion whose partitions are segments of the topological order, each of
/// one phase, by dynamic programming; nothing if there is none or if kernels are pinned.  Where
/// partitions are scarce and the graph is large or memory tight it is the best of those with as few
/// partitions, mostly about as many as there may be, or nothing if segments are millions.  Throws
/// Stopped by the deadline of the tables.
std::optional<Fusion> best_segments(const FusionTables& tables);

}  // namespace dfsearch
