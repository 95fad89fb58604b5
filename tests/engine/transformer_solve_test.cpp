// The search against brute force on pieces of transformer layers by rule.

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

#include "engine/solve.hpp"
#include "support/brute_force.hpp"
#include "support/node_efforts.hpp"
#include "support/same_answer.hpp"
#include "support/transformer_worlds.hpp"

namespace dfsearch {

TEST_CASE("solve finds one of the best mappings of pieces of layers by rule") {
  std::array<int, 3> feasible{};
  for (std::uint64_t seed = 0; seed < 450; ++seed) {
    CAPTURE(seed);
    const bool joint = seed % 5 == 0;
    const Problem problem = test::random_transformer_problem(
        seed,
        {.kernels = joint ? 4U : 7U, .assignments = joint ? 3000.0 : 20'000.0, .joint = joint});
    const test::BruteForceResult best = test::brute_force(problem);
    feasible[seed % 3] += best.mapping ? 1 : 0;
    for (const int threads : {1, 2}) {
      CAPTURE(threads);
      test::check_same(solve(problem, {.threads = threads, .node_effort = test::node_effort(seed)}),
                       best);
    }
  }
  for (const int count : feasible) CHECK(count > 30);
}

// Loops of kernels that share a value are no longer chosen each by itself.
TEST_CASE("a joint search finds one of the best mappings where values are shared" *
          doctest::test_suite("slow")) {
  int feasible = 0;
  for (std::uint64_t seed = 1000; seed < 2500; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_transformer_problem(
        seed, {.kernels = 5, .assignments = 5000.0, .joint = true});
    const test::BruteForceResult best = test::brute_force(problem);
    feasible += best.mapping ? 1 : 0;
    test::check_same(solve(problem, {.threads = 1}), best);
  }
  CHECK(feasible > 400);
}

}  // namespace dfsearch
