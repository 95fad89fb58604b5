#pragma once
// What would make an infeasible problem feasible, one quantity at a time.

#include <vector>

#include "engine/search_result.hpp"
#include "engine/tree/limits.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The changes that suffice by themselves, the one that raises its quantity by the
/// smallest part first.  The problem is infeasible.  The effort is bounded: where
/// it ran out a change is not exact or missing.  `limits` may end it earlier.
std::vector<FeasibleChange> feasible_changes(const Problem& problem, const Limits& limits);

}  // namespace dfsearch
