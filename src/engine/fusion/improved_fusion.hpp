#pragma once
// What windows and moves make of a fusion, at once.

#include <cstdint>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// A fusion of the same tables that takes no longer, after about so many steps of windows, as many
/// of moves and as many of windows again, as far as the tables' bounds allow these: a function of
/// the tables, the fusion and the steps.  Throws Stopped by the deadline of the tables.
[[nodiscard]] Fusion improved_fusion(const FusionTables& tables, const Fusion& fusion,
                                     std::int64_t steps);

}  // namespace dfsearch
