// The levels of the chip as resources of a partition: the search against brute force, and what
// must not change.

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "engine/solve.hpp"
#include "model/machine/network_choices.hpp"
#include "support/brute_force.hpp"
#include "support/node_efforts.hpp"
#include "support/random_problem.hpp"
#include "support/same_answer.hpp"

namespace dfsearch {
namespace {

/// One to three levels whose traffic takes about as long as computing.
Problem with_levels(Problem problem, std::uint64_t seed) {
  std::mt19937_64 random(seed * 7919 + 5);
  const auto count = static_cast<std::size_t>(test::pick(random, 1, 3));
  problem.system.levels.clear();
  for (std::size_t x = 0; x < count; ++x) {
    const auto words = static_cast<double>(test::pick(random, 3, x == 0 ? 20 : 300));
    test::add_level(problem, words, std::exp2(static_cast<double>(test::pick(random, -5, 1))));
  }
  return problem;
}

TEST_CASE("solve finds one of the best mappings where levels take time") {
  const tbb::global_control eight(tbb::global_control::max_allowed_parallelism, 8);
  int bound_by_level = 0;
  int feasible = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Problem problem = with_levels(test::random_problem(seed, {.kernels = 5,
                                                                    .assignments = 2000,
                                                                    .free_machine = seed % 3 == 0,
                                                                    .joint = seed % 4 == 0}),
                                        seed);
    if (network_choices(problem).empty()) continue;
    const test::BruteForceResult best = test::brute_force(problem);
    feasible += best.mapping.has_value();
    test::check_same_on_threads(problem, best, seed, [&](const SearchResult& result) {
      if (!result.cost) return;
      for (const PartitionCost& partition : result.cost->partitions) {
        bound_by_level += partition.bound_by >= Bottleneck::Registers;
      }
    });
  }
  CHECK(feasible > 100);
  CHECK(bound_by_level > 300);
}

TEST_CASE("more share or bandwidth of a level never makes the best step slower") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const Problem problem =
        with_levels(test::random_problem(seed, {.kernels = 5, .assignments = 500}), seed);
    const SearchResult before = solve(problem, {});
    if (!before.cost) continue;
    for (std::size_t x = 0; x < problem.system.levels.size(); ++x) {
      Problem more = problem;
      more.system.levels[x].share = 1.7 * more.system.levels[x].share;
      // The ticks of two machines differ in their last bits.
      const double limit = before.cost->objective.in_base_units() * (1.0 + 1e-12);
      CHECK(solve(more, {}).cost->objective.in_base_units() <= limit);
      more = problem;
      more.system.levels[x].bandwidth = 1.3 * more.system.levels[x].bandwidth;
      CHECK(solve(more, {}).cost->objective.in_base_units() <= limit);
    }
  }
}

TEST_CASE("levels that are not to take time change nothing") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    const Problem without = test::random_problem(seed, {.kernels = 5, .assignments = 500});
    Problem with = with_levels(without, seed);
    with.execution.levels = false;
    const SearchResult a = solve(without, {});
    const SearchResult b = solve(with, {});
    CHECK(a.status == b.status);
    CHECK(a.stats.nodes == b.stats.nodes);
    if (a.cost) CHECK(a.cost->objective == b.cost->objective);
  }
}

}  // namespace
}  // namespace dfsearch
