#pragma once
// The reason behind "no mapping fits".

#include "engine/mapping/mapping_problem.hpp"
#include "model/evaluate.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Why nothing fits.
struct InfeasibilityReason {
  Infeasible reason;
  /// What is needed is what one mapping needs, found by a short search; others may need less.
  bool needed_is_of_one_mapping = false;
};

/// What fails at the outer point that needs least, for a problem that a search
/// has proved infeasible.  Throws Stopped; the allowance is that of `search`, too.
InfeasibilityReason why_infeasible(const Problem& problem, const MappingProblem& search,
                                   const Allowance& allowance);

}  // namespace dfsearch
