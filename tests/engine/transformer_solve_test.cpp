// The search against brute force on pieces of transformer layers by rule.

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

#include "support/check_worlds.hpp"
#include "support/transformer_worlds.hpp"
#include "support/worlds.hpp"

namespace dfsearch {

TEST_CASE("solve finds one of the best mappings of pieces of layers by rule" *
          doctest::test_suite("worlds")) {
  std::array<int, 3> feasible{};
  const auto world = [](std::uint64_t seed) {
    const bool joint = seed % 5 == 0;
    return test::random_transformer_problem(
        seed,
        {.kernels = joint ? 4U : 7U, .assignments = joint ? 3000.0 : 20'000.0, .joint = joint});
  };
  test::each_world(test::share_of(450U), world,
                   [&](std::uint64_t seed, const auto& problem, const auto& best) {
                     feasible[seed % 3] += best.mapping ? 1 : 0;
                     test::check_same_on_threads(problem, best, seed);
                   });
  for (const int count : feasible) CHECK(count > test::share_of(30));
}

// Loops of kernels that share a value are no longer chosen each by itself.
TEST_CASE("a joint search finds one of the best mappings where values are shared" *
          doctest::test_suite("slow")) {
  const auto world = [](std::uint64_t seed) {
    return test::random_transformer_problem(1000 + seed,
                                            {.kernels = 5, .assignments = 5000.0, .joint = true});
  };
  const auto check = [](auto, const Problem& problem, const auto& best) {
    test::check_same(solve(problem, {.threads = 1}), best);
  };
  CHECK(test::each_world(1500, world, check) > 400);
}

}  // namespace dfsearch
