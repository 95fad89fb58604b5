#pragma once
// What would make an infeasible problem feasible, one quantity at a time.

#include <vector>

#include "base/deadline.hpp"
#include "engine/search_result.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The changes that suffice by themselves, the one that raises its quantity by the
/// smallest part first.  The problem is infeasible.  The effort is bounded: where
/// it ran out a change is not exact or missing.  The deadline may end it earlier.
struct FeasibleChanges {
  std::vector<FeasibleChange> list;
  bool complete = true;  ///< false: the deadline passed before every quantity was tried
};
FeasibleChanges feasible_changes(const Problem& problem, const Deadline& deadline);

}  // namespace dfsearch
