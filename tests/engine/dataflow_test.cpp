// The dataflow of the arrays: the search against brute force, whose cycles are another's.

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <cstdint>

#include "engine/solve.hpp"
#include "model/machine/network_choices.hpp"
#include "support/brute_force.hpp"
#include "support/random_problem.hpp"
#include "support/same_answer.hpp"

namespace dfsearch {
namespace {

Problem counting_cycles(std::uint64_t seed, Dataflow dataflow) {
  Problem problem = test::random_problem(
      seed,
      {.kernels = 5, .assignments = 2000, .free_machine = seed % 3 == 0, .joint = seed % 4 == 0});
  problem.execution.compute_utilization.reset();
  problem.system.accelerator.dataflow = dataflow;
  return problem;
}

TEST_CASE("solve finds one of the best mappings whatever stays in the arrays") {
  const tbb::global_control eight(tbb::global_control::max_allowed_parallelism, 8);
  int feasible = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Problem problem = counting_cycles(seed, static_cast<Dataflow>(1 + seed % 3));
    if (network_choices(problem).empty()) continue;
    const test::BruteForceResult best = test::brute_force(problem);
    feasible += best.mapping.has_value();
    test::check_same_on_threads(problem, best, seed);
  }
  CHECK(feasible > 100);
}

TEST_CASE("the best dataflow of each kernel is never slower than one for all") {
  int faster = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const Problem problem = counting_cycles(seed, Dataflow::Best);
    if (network_choices(problem).empty()) continue;
    const SearchResult best = solve(problem, {});
    bool all_slower = best.cost.has_value();
    for (const Dataflow one : {Dataflow::Output, Dataflow::Weight, Dataflow::Input}) {
      const SearchResult alone = solve(counting_cycles(seed, one), {});
      REQUIRE(alone.cost.has_value() == best.cost.has_value());
      if (!best.cost) continue;
      // The ticks of two machines differ in their last bits.
      const double limit = alone.cost->step_time.in_base_units() * (1.0 + 1e-12);
      CHECK(best.cost->step_time.in_base_units() <= limit);
      all_slower = all_slower && best.cost->step_time < alone.cost->step_time * (1.0 - 1e-9);
    }
    faster += all_slower;
  }
  CHECK(faster > 0);
}

}  // namespace
}  // namespace dfsearch
