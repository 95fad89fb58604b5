#pragma once
// The best fusion of one order of the kernels, found at once, and the best fusion by a short search
// of its own: the bound of a sharding that is decided in part (docs/search.md, section 9).

#include <cstdint>
#include <optional>
#include <span>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// The best fusion whose partitions are segments of the topological order, each of one phase, by
/// dynamic programming; nothing if there is none or if kernels are pinned.  If partitions are
/// scarce and the graph is large or memory tight, it is the best among fusions of at most its
/// number of partitions, which mostly is about the limit; nothing if there are millions of
/// segments.  Throws Stopped by the deadline of the tables.
std::optional<Fusion> best_segments(const FusionTables& tables);
/// The best fusion of that kind; adds the work of finding it to `work`.
std::optional<Fusion> best_segments(const FusionTables& tables, Work& work);

/// The best such fusion in the order of a given fusion, whose kernels, none pinned, are in
/// partitions at `places`: no slower than the given one, unless partitions are scarce or one of its
/// partitions has both phases.
std::optional<Fusion> best_segments(const FusionTables& tables,
                                    std::span<const std::uint32_t> places, Work& work);

struct RelaxedFusion {
  Ticks bound = kNever;          ///< no fusion takes less; kNever: none is within the limit
  std::optional<Fusion> fusion;  ///< the best met, within the limit
};

/// Searches the fusions of the tables that take at most `limit`, in the order of their bounds, for
/// about `steps` steps.  The bound is the time of the fusion unless the steps did not suffice.
/// Throws Stopped by the deadline of the tables.
RelaxedFusion relaxed_fusion(const FusionTables& tables, Ticks limit, std::int64_t steps);

}  // namespace dfsearch
