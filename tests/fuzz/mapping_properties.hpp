#pragma once
// Properties of every mapping that is read.

#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch::fuzz {

/// It is costed or found infeasible, and either can be told in every form; the
/// result reads back to the same mapping at the same cost; it can be drawn and
/// exported for solvers, or is refused there.  Throws Finding.
void check_mapping(const Problem& problem, const Mapping& mapping);

}  // namespace dfsearch::fuzz
