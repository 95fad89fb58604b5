#pragma once
// Changes of one quantity that make an infeasible problem feasible.

#include <vector>

#include "engine/search_result.hpp"
#include "engine/tables/allowance.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The changes that suffice by themselves, ordered by the relative increase of their quantity. The
/// problem is infeasible.  The effort is bounded: a change whose search ran out of effort is
/// inexact or missing.  The deadline may end the search earlier.
struct FeasibleChanges {
  std::vector<FeasibleChange> list;
  bool complete = true;  ///< false: the deadline passed before every quantity was tried
};
FeasibleChanges feasible_changes(const Problem& problem, const Allowance& allowance);

}  // namespace dfsearch
