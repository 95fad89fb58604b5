#pragma once
// Linear models as text for solvers: LP and free MPS.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "graph/dataflow_graph.hpp"
#include "milp/linear_model.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The LP format of CPLEX, which CBC, GLPK, HiGHS, SCIP and Gurobi read.  Since
/// `[` opens a quadratic term there, `A[Q,2]` is written `A(Q,2)`.
std::string lp_text(const LinearModel& model);

/// Free MPS.  Numbers of both formats are the shortest that read back to the
/// same double.
std::string mps_text(const LinearModel& model);

/// The decisions of the columns of a solution; others are empty.
struct MilpSolution {
  std::vector<std::int64_t> partition;  ///< per kernel, from A
  std::vector<CoreGrid> cores;          ///< per kernel, from Y
  std::vector<LoopPair> sharding;       ///< per kernel, from S
};

/// Any text in which a name of a column is followed by its value: the solution files of CBC, HiGHS,
/// SCIP, GLPK (-o) and Gurobi, or a plain list.  Columns that are not mentioned are 0.  Throws one
/// InputError with all faults: a kernel that the graph does not have, an A, Y or S that is not 0 or
/// 1, a kernel without one of them or with several, a file without a solution.
MilpSolution parse_solution(const std::string& text, const std::string& name,
                            const DataflowGraph& graph);
MilpSolution load_solution(const std::filesystem::path& file, const DataflowGraph& graph);

/// Network, sharding, micro-batch and tile of `mapping`, or of the config if `mapping` is null.  A
/// micro-batch that the config leaves open is 1, which is optimal; an open sharding becomes the one
/// of least bytes.  Throws InputError for all other open decisions, and for decisions that no
/// mapping of the problem can have.
LayerDecisions given_decisions(const Problem& problem, const Mapping* mapping);

/// The mapping of a solution: other decisions are taken from `mapping`, or from the config if that
/// is null.  Throws InputError when the partitions are missing.
Mapping mapping_of(const MilpSolution& solution, const Problem& problem, const Mapping* mapping);

}  // namespace dfsearch
