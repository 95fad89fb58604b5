#pragma once
// The sharding of least communicated bytes as a mixed-integer linear program
// (docs/milp.md, section 3).

#include "milp/linear_model.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The program of the sharding; its optimum times `unit` is the communicated bytes.
LinearModel sharding_model(const Problem& problem);

}  // namespace dfsearch
