// Kernels that are done in steps, one after the other: the search against brute force, with and
// without stages that divide the graph, and what steps may not change.

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "support/check_worlds.hpp"
#include "support/model_worlds.hpp"
#include "support/stage_worlds.hpp"
#include "support/step_worlds.hpp"
#include "support/worlds.hpp"

namespace dfsearch {
namespace {

struct StepCounts {
  int together = 0;  ///< of answers: weights that stay because both kernels share a partition
  int apart = 0;

  void count(const Problem& problem, const SearchResult& result) {
    if (!result.mapping) return;
    const DataflowGraph& graph = problem.workload.graph;
    for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
      const auto turn = graph.turn(KernelId(k));
      if (!turn) continue;
      const Tensor& tensor = graph.tensor(*turn);
      const auto& partition = result.mapping->partition;
      (partition[tensor.from.index()] == partition[tensor.to.index()] ? together : apart) += 1;
    }
  }
};

TEST_CASE("solve finds one of the best mappings of kernels with steps") {
  StepCounts counts;
  const auto world = [](std::uint64_t seed) {
    return test::with_steps(test::random_problem(seed, test::mixed_limits(seed)), seed, false);
  };
  const int feasible = test::check_worlds(
      300, world,
      [&](const Problem& problem, const SearchResult& result) { counts.count(problem, result); });
  CHECK(feasible > 100);
  CHECK(counts.together > 30);
  CHECK(counts.apart > 15);
}

TEST_CASE("steps go through stages in a wave, and those that wait for each other share a stage" *
          doctest::test_suite("worlds")) {
  int feasible = 0;
  int waves = 0;
  int waiting = 0;
  for (std::uint64_t seed = 0; seed < test::share_of(300U); ++seed) {
    CAPTURE(seed);
    const Problem problem = test::with_steps(test::random_stages(seed), seed, seed % 3 > 0);
    const test::BestStages best = test::best_stages(problem);
    const SearchResult result = solve(problem, {.threads = 2});
    if (best.feasible == 0) {
      CHECK(result.status == SearchStatus::Infeasible);
      continue;
    }
    REQUIRE(result.status == SearchStatus::Optimal);
    CHECK(result.cost->objective.in_base_units() == doctest::Approx(best.objective).epsilon(1e-9));
    ++feasible;
    const bool is_staged = problem.system.network[1].degree > 1;
    waves += is_staged && problem.workload.graph.wave_steps() > 1;
    waiting += is_staged && !problem.workload.graph.seams().empty();
  }
  CHECK(feasible > test::share_of(120));
  CHECK(waves > test::share_of(30));
  CHECK(waiting > test::share_of(20));
}

TEST_CASE("layers over stages are a wave, S + P - 1 steps deep") {
  // Four equal kernels of 1 s in four steps, on 1, 2 and 4 stages.
  Problem problem = test::idle_problem(4);
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  std::vector<Tensor> tensors;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    kernels[k].steps = 4;
    kernels[k].n = 4;
    if (k > 0) tensors.push_back(test::tensor(k - 1, k));
  }
  problem.workload.graph = DataflowGraph(kernels, tensors);
  problem.workload.tile = 1;
  problem.workload.sequence = 1;
  problem.execution.stages = Stages::Graph;
  problem.system.accelerator.frequency = Hertz(1.0);
  problem.workload.global_batch = 1;
  problem.workload.micro_batch = 1;
  double alone = 0.0;
  for (const std::int64_t stages : {1, 2, 4}) {
    problem.system.network = {test::dimension(Topology::Ring, stages, 1e30, Strategy::Pipeline)};
    problem.system.chips = stages;
    const double step = solve(problem, {}).cost->step_time.in_base_units();
    if (stages == 1) alone = step;
    const double depth = 4.0 + static_cast<double>(stages) - 1.0;
    CHECK(step == doctest::Approx(alone / static_cast<double>(stages) * depth / 4.0));
  }
}

}  // namespace
}  // namespace dfsearch
