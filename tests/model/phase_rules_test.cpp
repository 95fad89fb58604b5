// The ranges of the phases against `evaluate`, which knows the rule by itself.

#include "model/mapping_rules.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <variant>
#include <vector>

#include "model/evaluate.hpp"
#include "support/model_worlds.hpp"

namespace dfsearch {
namespace {

/// A forward and a backward kernel.
Problem two_phases(std::int64_t partitions, SplitPhases phases) {
  Problem problem = test::idle_problem(2);
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  kernels[1].phase = Phase::Backward;
  problem.workload.graph = DataflowGraph(kernels, {});
  problem.execution.partitions = partitions;
  problem.equations.phases = phases;
  return problem;
}

/// Whether some place of the other kernel lets `kernel` be in partition `index`.
bool may_be(const Problem& problem, std::size_t kernel, std::int64_t index) {
  for (std::int64_t other = 0; other < problem.partition_limit(); ++other) {
    Mapping mapping = test::plain_mapping(problem);
    mapping.partition = kernel == 0 ? std::vector{index, other} : std::vector{other, index};
    if (std::holds_alternative<Cost>(evaluate(problem, mapping))) return true;
  }
  return false;
}

TEST_CASE("in halves the phases may have the partitions that the model lets them have") {
  for (std::int64_t partitions = 1; partitions <= 9; ++partitions) {
    CAPTURE(partitions);
    const Problem problem = two_phases(partitions, SplitPhases::Halves);
    REQUIRE(has_halves(problem));
    const PhaseRanges ranges = phase_ranges(problem, partitions);
    CHECK(ranges.overlap() == (partitions % 2 == 1));
    for (std::int64_t index = 0; index < partitions; ++index) {
      CAPTURE(index);
      CHECK(may_be(problem, 0, index) == (index <= ranges.last_forward));
      CHECK(may_be(problem, 1, index) == (index >= ranges.first_backward));
    }
  }
}

TEST_CASE("without halves all partitions are open to either phase") {
  Problem separate = two_phases(4, SplitPhases::Separate);
  Problem forward = two_phases(4, SplitPhases::Halves);
  forward.workload.graph = test::idle_problem(2).workload.graph;
  for (const Problem* problem : {&separate, &forward}) {
    CHECK_FALSE(has_halves(*problem));
    const PhaseRanges ranges = phase_ranges(*problem, 4);
    CHECK(ranges.last_forward == 3);
    CHECK(ranges.first_backward == 0);
    CHECK(ranges.overlap());
  }
}

}  // namespace
}  // namespace dfsearch
