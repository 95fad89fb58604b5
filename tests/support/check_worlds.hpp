#pragma once
// Random worlds whose best mapping the search must find, one loop for all of them.

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <cstdint>

#include "engine/solve.hpp"
#include "model/machine/network_choices.hpp"
#include "support/brute_force.hpp"
#include "support/node_efforts.hpp"
#include "support/random_problem.hpp"
#include "support/same_answer.hpp"

namespace dfsearch::test {

/// Limits of five kernels with free machines and joint shardings now and then.
inline WorldLimits mixed_limits(std::uint64_t seed) {
  return {.kernels = 5, .assignments = 2000, .free_machine = seed % 3 == 0, .joint = seed % 4 == 0};
}

/// Calls `check` with the worlds of the seeds below `seeds`, but for those that no network fits,
/// and with what trying everything finds.  Returns the number of worlds that have a mapping.
template <class World, class Check>
int each_world(std::uint64_t seeds, const World& world, const Check& check) {
  // Eight workers even where the machine has fewer cores.
  const tbb::global_control eight(tbb::global_control::max_allowed_parallelism, 8);
  int feasible = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    const Problem problem = world(seed);
    if (network_choices(problem).empty()) continue;
    const BruteForceResult best = brute_force(problem);
    feasible += best.mapping.has_value();
    check(seed, problem, best);
  }
  return feasible;
}

/// On 1, 2 and 8 threads the answer is the best one; `look` sees each world with each result.
template <class World, class Look>
int check_worlds(std::uint64_t seeds, const World& world, const Look& look) {
  return each_world(
      seeds, world, [&](std::uint64_t seed, const Problem& problem, const BruteForceResult& best) {
        check_same_on_threads(problem, best, seed,
                              [&](const SearchResult& result) { look(problem, result); });
      });
}

inline void check_same_deterministic(std::uint64_t seed, const Problem& problem,
                                     const BruteForceResult& best) {
  check_same(
      solve(problem, {.threads = 2, .deterministic = true, .node_effort = node_effort(seed)}),
      best);
}

/// No node that holds a best mapping has a bound above its cost: in builds with checks the search
/// throws at the first such node.
inline void check_bounds_of_best(std::uint64_t seed, const Problem& problem,
                                 const BruteForceResult& best) {
  if (!best.mapping) return;
  const SearchResult result =
      solve(problem, {.node_effort = node_effort(seed), .debug_solution = best.mapping});
  CHECK(result.cost->objective == best.objective);
}

}  // namespace dfsearch::test
