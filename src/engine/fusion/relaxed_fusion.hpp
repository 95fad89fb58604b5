#pragma once
// The best fusion by a short search of its own: the bound of a sharding that is
// decided in part (docs/search.md, section 9).

#include <cstdint>
#include <optional>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

struct RelaxedFusion {
  Ticks bound = kNever;          ///< no fusion takes less; kNever: none is within the limit
  std::optional<Fusion> fusion;  ///< the best met, within the limit
};

/// Searches the fusions of the tables that take at most `limit`, in the order of their bounds, for
/// about `steps` steps.  The bound is the time of the fusion unless the steps did not suffice.
/// Throws Stopped by the deadline of the tables.
RelaxedFusion relaxed_fusion(const FusionTables& tables, Ticks limit, std::int64_t steps);

}  // namespace dfsearch
