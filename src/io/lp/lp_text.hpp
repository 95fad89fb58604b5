#pragma once
// Linear models as text for solvers: LP and free MPS.

#include <string>

#include "milp/linear_model.hpp"

namespace dfsearch {

/// The LP format of CPLEX, which CBC, GLPK, HiGHS, SCIP and Gurobi read.  Since
/// `[` opens a quadratic term there, `A[Q,2]` is written `A(Q,2)`.
std::string lp_text(const LinearModel& model);

/// Free MPS.  Numbers of both formats are the shortest that read back to the
/// same double.
std::string mps_text(const LinearModel& model);

}  // namespace dfsearch
