// What is told beside the scope is what a search finds that fixes nothing beforehand.

#include <doctest/doctest.h>

#include <cstdint>

#include "engine/solve.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {

TEST_CASE("beyond the scope there is what a joint search finds, or as much as is proved") {
  int better = 0, fits_only_so = 0, nothing = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    Problem problem =
        test::random_problem(seed, {.kernels = 4, .assignments = 2'000, .joint = true});
    const SearchResult joint = solve(problem, {});
    CHECK(joint.scope.empty());
    problem.sharding = ShardingChoice::LeastBytes;
    const SearchResult fixed = solve(problem, {.beyond_scope = true});
    CHECK_FALSE(solve(problem, {}).beyond_scope.has_value());
    REQUIRE(fixed.beyond_scope.has_value() == !fixed.scope.empty());
    if (fixed.scope.empty()) {  // all shardings are alike
      REQUIRE(fixed.cost.has_value() == joint.cost.has_value());
      if (fixed.cost) CHECK(fixed.cost->objective == joint.cost->objective);
      continue;
    }
    const BestMapping& beyond = *fixed.beyond_scope;
    const SearchResult again = solve(problem, {.threads = 2, .beyond_scope = true});
    CHECK(again.beyond_scope->lower_bound == beyond.lower_bound);
    if (fixed.cost) CHECK(beyond.cost->objective <= fixed.cost->objective);
    if (beyond.status == SearchStatus::Infeasible) {
      CHECK(joint.status == SearchStatus::Infeasible);
      ++nothing;
    } else if (beyond.status == SearchStatus::Optimal) {
      REQUIRE(joint.cost.has_value());
      CHECK(beyond.cost->objective == joint.cost->objective);
      better += fixed.cost && beyond.cost->objective < fixed.cost->objective;
      fits_only_so += !fixed.cost;
    } else if (joint.cost) {
      CHECK(beyond.lower_bound <= joint.cost->objective);
    }
  }
  CHECK(better > 10);
  CHECK(fits_only_so > 0);
  CHECK(nothing > 0);
}

}  // namespace dfsearch
