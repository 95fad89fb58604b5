#pragma once
// The reason behind "no mapping fits".

#include "engine/mapping/mapping_problem.hpp"
#include "model/evaluate.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// What fails at the outer point that needs least, for a problem that a search
/// has proved infeasible.  Throws Stopped; the allowance is that of `search`, too.
Infeasible why_infeasible(const Problem& problem, const MappingProblem& search,
                          const Allowance& allowance);

}  // namespace dfsearch
