// The search against brute force on the workloads that use the whole machine.

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <array>
#include <cstdint>

#include "base/error.hpp"
#include "engine/solve.hpp"
#include "model/machine/network_choices.hpp"
#include "support/brute_force.hpp"
#include "support/machine_worlds.hpp"
#include "support/node_efforts.hpp"
#include "support/same_answer.hpp"

namespace dfsearch {

TEST_CASE("solve finds one of the best mappings of DLRM, HPL, FFT and decode" *
          doctest::test_suite("slow")) {
  const tbb::global_control eight(tbb::global_control::max_allowed_parallelism, 8);
  std::array<int, 6> feasible{};
  int spilled = 0;
  int infeasible = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_machine_problem(seed);
    const test::BruteForceResult best = test::brute_force(problem);
    (best.mapping ? feasible[seed % 6] : infeasible) += 1;
    test::check_same_on_threads(problem, best, seed, [&](const SearchResult& result) {
      spilled += result.cost && result.cost->spilled;
    });
    test::check_same(
        solve(problem,
              {.threads = 2, .deterministic = true, .node_effort = test::node_effort(seed)}),
        best);
  }
  // Each kind of world must be of both sorts, or it would not test much.
  for (const int count : feasible) CHECK(count > 30);
  CHECK(infeasible > 60);
  CHECK(spilled > 60);
}

TEST_CASE("with degrees left out solve finds the best machine for them, too" *
          doctest::test_suite("slow")) {
  int searched = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_machine_problem(
        seed, {.kernels = 4, .assignments = 300, .free_machine = true});
    searched += test::check_best_machine(problem, seed) > 1;
  }
  CHECK(searched > 60);
}

TEST_CASE("a joint search finds their best sharding as well" * doctest::test_suite("slow")) {
  int feasible = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Problem problem =
        test::random_machine_problem(seed, {.kernels = 4, .assignments = 3000, .joint = true});
    const test::BruteForceResult best = test::brute_force(problem);
    feasible += best.mapping.has_value();
    test::check_same(solve(problem, {.threads = 1, .node_effort = test::node_effort(seed)}), best);
    test::check_same(solve(problem, {.threads = 2, .node_effort = test::node_effort(seed)}), best);
  }
  CHECK(feasible > 100);
}

TEST_CASE("no node that holds a best mapping of theirs has a bound above its cost" *
          doctest::test_suite("slow")) {
  int checked = 0;
  for (std::uint64_t seed = 0; seed < 480; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_machine_problem(
        seed,
        {.kernels = 5, .assignments = 2000, .free_machine = seed % 3 == 0, .joint = seed % 4 == 0});
    if (network_choices(problem).empty()) continue;
    const test::BruteForceResult best = test::brute_force(problem);
    if (!best.mapping) continue;
    const SearchResult result =
        solve(problem, {.node_effort = test::node_effort(seed), .debug_solution = best.mapping});
    CHECK(result.cost->objective == best.objective);
    ++checked;
  }
  CHECK(checked > 200);
}

TEST_CASE("a search that is stopped early reports what its mapping costs") {
  int stopped = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_machine_problem(seed);
    // The winner is costed again: a wrong tier of memory would throw.
    const SearchResult result =
        solve(problem, {.limits = {.nodes = 3}, .node_effort = test::node_effort(seed)});
    stopped += result.status == SearchStatus::Feasible;
    if (result.cost) CHECK(result.lower_bound <= result.cost->objective);
  }
  CHECK(stopped > 20);
}

}  // namespace dfsearch
