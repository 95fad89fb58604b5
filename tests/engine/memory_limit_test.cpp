// Searches with next to no memory: depth first, with tables that learn nothing, and the same
// answers.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

#include "base/memory_budget.hpp"
#include "engine/mapping/mapping_problem.hpp"
#include "engine/mapping/point_bound.hpp"
#include "engine/solve.hpp"
#include "engine/tree/branch_and_bound.hpp"
#include "model/machine/network_choices.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

static_assert(SizedProblem<MappingProblem>);

// The memory is a part of the search's need: it fills up, and has room again while subtrees are
// searched.
TEST_CASE("a search without room for anything, or for all, finds the same answer") {
  int solved = 0;
  for (std::uint64_t seed = 0; seed < 160; ++seed) {
    const bool is_small = seed % 2 == 0;
    Problem problem = test::random_problem(seed, {.kernels = is_small ? std::size_t{7} : 14,
                                                  .assignments = is_small ? 20'000 : 1e12,
                                                  .joint = seed % 3 == 0});
    if (network_choices(problem).empty()) continue;
    SearchOptions options{.node_effort = {.steps = 5}};
    const SearchResult straight = solve(problem, options);
    for (const double share : {0.0, 0.2, 0.4, 0.7}) {
      options.limits.memory = std::max(Bytes(1.0), share * straight.memory_used);
      for (const int threads : {1, 2}) {
        for (const bool deterministic : {false, true}) {
          CAPTURE(seed);
          CAPTURE(share);
          CAPTURE(threads);
          CAPTURE(deterministic);
          options.threads = threads;
          options.deterministic = deterministic;
          const SearchResult tight = solve(problem, options);
          REQUIRE(tight.status == straight.status);
          REQUIRE(tight.memory_limit == options.limits.memory);
          REQUIRE(tight.lower_bound == straight.lower_bound);
          if (!straight.mapping) continue;
          ++solved;
          REQUIRE(tight.cost->objective == straight.cost->objective);
        }
      }
    }
  }
  CHECK(solved > 800);
}

TEST_CASE("all that was charged is given back") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed, {.kernels = 40, .assignments = 1e300});
    for (const double limit : {1e3, 1e6, 1e12}) {
      MemoryBudget budget{Bytes(limit)};
      {
        const MappingProblem search(problem, {.steps = 50}, {}, {.memory = &budget});
        BranchAndBound<MappingProblem> tree(
            search, {.limits = {.nodes = 300}, .threads = 2, .memory = &budget});
        static_cast<void>(tree.run());
        REQUIRE(budget.most() > Bytes(1000.0));
        // Open nodes move out and in again.
        auto open = tree.take_open();
        BranchAndBound<MappingProblem> again(search, {.limits = {.nodes = 10}, .memory = &budget});
        again.resume_from(std::move(open));
        static_cast<void>(again.run());
      }
      REQUIRE(budget.used() == Bytes(0.0));
    }
  }
}

}  // namespace
}  // namespace dfsearch
