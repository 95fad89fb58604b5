// Solutions as solvers write them.  Wrong ones are in tests/cli/transcripts/mappings.txt.

#include "io/lp/lp_text.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "io/example_problem.hpp"

namespace dfsearch {
namespace {

// A and B in partition 0, C in partition 2, as five programs write it.
const char* const kCbc =
    "Optimal - objective value 12.5\n"
    "      3 T(0)                 12.5                       0\n"
    "      4 A(A,0)                  1                       0\n"
    "**    7 A(B,0)         0.99999999                   -2e+3\n"
    "      9 A(C,2)                  1                       0\n";
const char* const kHighs =
    "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 12.5\n# Columns 5\n"
    "A[A,0] 1\nA[A,2] -0\nA[B,0] 1\nA[C,2] 1.0000001\nT[0] 12.5\n# Rows 1\nassign[A] 1\n"
    "# Dual solution values\nA[A,2] 1\n";
const char* const kScip =
    "solution status: optimal solution found\nobjective value:   12.5\n"
    "A[A,0]    1 \t(obj:0)\nA[B,0]    1 \t(obj:0)\nA[C,2]    1 \t(obj:0)\n";
const char* const kGlpk =
    "Problem:    dfsearch\nStatus:     INTEGER OPTIMAL\nObjective:  layer_time = 12.5 (MINimum)\n\n"
    "   No.   Row name        Activity     Lower bound   Upper bound\n"
    "------ ------------    ------------- ------------- -------------\n"
    "     1 assign[A]                   1             1             =\n\n"
    "     1 A[A,0]       *              1             0             1 \n"
    "     2 A[A,2]       *              0             0             1 \n"
    "     3 A[B,0]\n                    *              1             0             1 \n"
    "     4 A[C,2]       *              1             0             1 \n";
const char* const kGurobi = "# Objective value = 12.5\r\nA[A,0] 1\r\nA[B,0] 1\r\nA[C,2] 1\r\n";

MilpSolution read(const std::string& text) {
  return parse_solution(text, "f.sol", example_problem().workload.graph);
}

}  // namespace

TEST_CASE("solutions of all solvers are read") {
  for (const char* text : {kCbc, kHighs, kScip, kGlpk, kGurobi}) {
    CAPTURE(text);
    const MilpSolution solution = read(text);
    CHECK(solution.partition == std::vector<std::int64_t>{0, 0, 2});
    CHECK(solution.cores.empty());
    CHECK(solution.sharding.empty());
  }
}

TEST_CASE("cores and shardings are read") {
  const std::string partitions = "A[A,0] 1\nA[B,0] 1\nA[C,2] 1\n";
  const MilpSolution fusion =
      read(partitions + "Y[A,4x2,0] 1\nY[A,1x1,0] 0\nY[B,3x1,0] 1\nY[C,8x2,2] 1\n");
  CHECK(fusion.cores == std::vector<CoreGrid>{{4, 2}, {3, 1}, {8, 2}});
  const MilpSolution sharding = read("S(A,M) 1\nS(B,none) 1\nS(C,K) 1\nZ(A,B,M,none) 1\n");
  CHECK(sharding.partition.empty());
  CHECK(sharding.sharding == std::vector<LoopPair>{Loop::M, Loop::None, Loop::K});
}

TEST_CASE("what a solution does not decide comes from the config or a mapping") {
  const Problem problem = example_problem();
  const Mapping given = example_mapping();
  const Mapping fused = mapping_of(read("A[A,0] 1 A[B,1] 1 A[C,1] 1"), problem, &given);
  CHECK(fused.partition == std::vector<std::int64_t>{0, 1, 1});
  CHECK(fused.sharding == given.sharding);
  CHECK(fused.tile == given.tile);
  CHECK(fused.network == given.network);
  const Mapping sharded = mapping_of(read("S[A,K] 1 S[B,M] 1 S[C,M] 1"), problem, &given);
  CHECK(sharded.partition == given.partition);
  CHECK(sharded.sharding == std::vector<LoopPair>{Loop::K, Loop::M, Loop::M});
  CHECK_THROWS_AS(mapping_of(read("S[A,K] 1 S[B,M] 1 S[C,M] 1"), problem, nullptr), InputError);
}

}  // namespace dfsearch
