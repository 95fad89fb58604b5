// The search against brute force on the workloads that use the whole machine.

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

#include "support/check_worlds.hpp"
#include "support/machine_worlds.hpp"

namespace dfsearch {

TEST_CASE("solve finds one of the best mappings of DLRM, HPL, FFT and decode" *
          doctest::test_suite("slow")) {
  std::array<int, 6> feasible{};
  int spilled = 0;
  int infeasible = 0;
  const auto world = [](std::uint64_t seed) { return test::random_machine_problem(seed); };
  test::each_world(600, world, [&](std::uint64_t seed, const auto& problem, const auto& best) {
    (best.mapping ? feasible[seed % 6] : infeasible) += 1;
    test::check_same_on_threads(problem, best, seed, [&](const SearchResult& result) {
      spilled += result.cost && result.cost->spilled;
    });
    test::check_same_deterministic(seed, problem, best);
  });
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
  const auto world = [](std::uint64_t seed) {
    return test::random_machine_problem(seed, {.kernels = 4, .assignments = 3000, .joint = true});
  };
  CHECK(test::check_worlds(300, world, [](auto&&...) {}) > 100);
}

TEST_CASE("no node that holds a best mapping of theirs has a bound above its cost" *
          doctest::test_suite("slow")) {
  const auto world = [](std::uint64_t seed) {
    return test::random_machine_problem(seed, test::mixed_limits(seed));
  };
  CHECK(test::each_world(480, world, test::check_bounds_of_best) > 200);
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
