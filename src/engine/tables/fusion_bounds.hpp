#pragma once
// Lower bounds of compute, memory and network time and of SRAM.

#include <vector>

#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// The summands of Rest, per kernel: whatever kernels are left, the sum of theirs is a lower
/// bound in each of its rows (docs/search.md, section 5).  Of the tables all but these shares
/// must be there.  Throws Stopped.
std::vector<Rest> rest_shares(const FusionTables& tables);

}  // namespace dfsearch
