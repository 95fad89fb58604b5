#pragma once
// The reason behind "no mapping fits".

#include "base/deadline.hpp"
#include "engine/mapping/mapping_problem.hpp"
#include "model/evaluate.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// What fails at the outer point that needs least, for a problem that a search
/// has proved infeasible.  Throws Stopped; the deadline is that of `search`, too.
Infeasible why_infeasible(const Problem& problem, const MappingProblem& search,
                          const Deadline& deadline);

}  // namespace dfsearch
