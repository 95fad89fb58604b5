#pragma once
// Explanations of an answer: the reason why nothing fits, the changes that would make something
// fit, and the best mapping with nothing fixed beforehand.

#include <cstdint>
#include <vector>

#include "engine/mapping/mapping_problem.hpp"
#include "engine/search_result.hpp"
#include "engine/tables/effort.hpp"
#include "model/evaluate.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Why nothing fits.
struct InfeasibilityReason {
  Infeasible reason;
  /// `reason` has the need of a single mapping, which a short search found; others may need less.
  bool needed_is_of_one_mapping = false;
};

/// The resource that fails at the outer point of least need, for a problem that a search has proved
/// infeasible.  Throws Stopped; `search` was made with this allowance.
InfeasibilityReason why_infeasible(const Problem& problem, const MappingProblem& search,
                                   const Allowance& allowance);

/// The changes that suffice by themselves, ordered by the relative increase of their quantity. The
/// problem is infeasible.  The effort is bounded: a change whose search ran out of effort is
/// inexact or missing.  The deadline may end the search earlier.
struct FeasibleChanges {
  std::vector<FeasibleChange> list;
  bool complete = true;  ///< false: the deadline passed before every quantity was tried
};
FeasibleChanges feasible_changes(const Problem& problem, const Allowance& allowance);

/// Searches for the best mapping with nothing fixed beforehand, for at most `nodes` nodes and at
/// most a number that depends only on the problem, so that the result is the same every time.
/// `known` is a mapping to begin with, or null.  Throws Stopped.
BestMapping search_beyond_scope(const Problem& problem, const Mapping* known, std::int64_t nodes,
                                const Allowance& allowance);

}  // namespace dfsearch
