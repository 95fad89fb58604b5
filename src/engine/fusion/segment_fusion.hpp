#pragma once
// best_segments: the best fusion for one order of the kernels, by dynamic programming.
// relaxed_fusion: a short tree search that bounds a sharding decided in part (docs/search.md,
// section 9).

#include <cstdint>
#include <optional>
#include <span>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// The best fusion whose partitions are segments of the topological order, each of one phase;
/// nothing if there is none or if kernels are pinned.  If partitions are scarce and the graph is
/// large or memory is tight, the result is the best of the fusions with at most its number of
/// partitions, which is mostly near the limit.  If partitions are scarce and there are millions of
/// segments, it is nothing.  Throws Stopped by the deadline of the tables.
std::optional<Fusion> best_segments(const FusionTables& tables);
/// Returns the same fusion and adds the work of finding it to `work`.
std::optional<Fusion> best_segments(const FusionTables& tables, Work& work);

/// The best fusion whose partitions are segments of another order, in which kernels are sorted by
/// the places of their partitions in a given fusion without pins.  It is no slower than the given
/// fusion, unless partitions are scarce or a given partition has both phases.
std::optional<Fusion> best_segments(const FusionTables& tables,
                                    std::span<const std::uint32_t> places, Work& work);

struct RelaxedFusion {
  Ticks bound = kNever;          ///< lower bound of all fusions; kNever: none is within the limit
  std::optional<Fusion> fusion;  ///< the best one found within the limit
};

/// Searches the fusions of the tables that take at most `limit`, best bound first, for about
/// `steps` steps.  If the steps suffice, the bound is the time of the best fusion.  Throws Stopped
/// by the deadline of the tables.
RelaxedFusion relaxed_fusion(const FusionTables& tables, Ticks limit, std::int64_t steps);

}  // namespace dfsearch
