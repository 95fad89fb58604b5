#pragma once
// Solutions of exported models, as solvers write them -> decisions.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "graph/dataflow_graph.hpp"
#include "model/mapping.hpp"

namespace dfsearch {

/// What the columns of a solution decide; what they do not is empty.
struct MilpSolution {
  std::vector<std::int64_t> partition;  ///< per kernel, from A
  std::vector<CoreGrid> cores;          ///< per kernel, from Y
  std::vector<LoopPair> sharding;       ///< per kernel, from S
};

/// Any text in which a name of a column is followed by its value: the solution
/// files of CBC, HiGHS, SCIP, GLPK (-o) and Gurobi, or a plain list.  Columns that
/// are not mentioned are 0.  Throws one InputError with all that is wrong: a kernel
/// that the graph does not have, an A, Y or S that is not 0 or 1, a kernel
/// without one of them or with several, a file without a solution.
MilpSolution parse_solution(const std::string& text, const std::string& name,
                            const DataflowGraph& graph);
MilpSolution load_solution(const std::filesystem::path& file, const DataflowGraph& graph);

}  // namespace dfsearch
