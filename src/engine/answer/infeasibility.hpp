#pragma once
// The reason behind "no mapping fits".

#include "engine/mapping/mapping_problem.hpp"
#include "model/evaluate.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Why nothing fits.
struct InfeasibilityReason {
  Infeasible reason;
  /// The need is the one of a single mapping that a short search found; other mappings may need
  /// less.
  bool needed_is_of_one_mapping = false;
};

/// The resource that fails at the outer point of least need, for a problem that a search has proved
/// infeasible.  Throws Stopped; `search` has the same allowance.
InfeasibilityReason why_infeasible(const Problem& problem, const MappingProblem& search,
                                   const Allowance& allowance);

}  // namespace dfsearch
