#pragma once
// What a search found against what trying everything found.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "engine/solve.hpp"
#include "model/machine/network_choices.hpp"
#include "support/brute_force.hpp"
#include "support/node_efforts.hpp"

namespace dfsearch::test {

/// Any of the best mappings, with its proof, or the proof that there is none.
inline void check_same(const SearchResult& result, const BruteForceResult& best) {
  if (!best.mapping) {
    CHECK(result.status == SearchStatus::Infeasible);
    CHECK(result.infeasible.has_value());
    CHECK_FALSE(result.mapping.has_value());
    return;
  }
  REQUIRE(result.status == SearchStatus::Optimal);
  CHECK(result.cost->objective == best.objective);
  CHECK(result.lower_bound == best.objective);
  CHECK(result.gap == 0.0);
  REQUIRE(result.root_bound);
  CHECK(*result.root_bound <= best.objective);
  CHECK(result.mapping.has_value());
}

/// Whether two answers are equally good; the mappings may be different ones.
inline bool cost_the_same(const BestMapping& a, const BestMapping& b) {
  return a.cost ? b.cost && a.cost->objective == b.cost->objective : !b.cost;
}

struct LookAway {
  void operator()(const SearchResult&) const {}
};

/// Checks that 1, 2 and 8 threads return the same answer; `look` sees each result.
template <class Look = LookAway>
void check_same_on_threads(const Problem& problem, const BruteForceResult& best, std::uint64_t seed,
                           const Look& look = {}) {
  for (const int threads : {1, 2, 8}) {
    CAPTURE(threads);
    const SearchResult result =
        solve(problem, {.threads = threads, .node_effort = node_effort(seed)});
    check_same(result, best);
    look(result);
  }
}

/// Checks that one thread and two find the best machine of a problem whose degrees are open;
/// returns the number of networks that the machine may have.
inline std::size_t check_best_machine(const Problem& problem, std::uint64_t seed) {
  const std::size_t networks = network_choices(problem).size();
  const BruteForceResult best = brute_force(problem);
  if (networks == 0) {
    CHECK_THROWS_AS(solve(problem, {}), InputError);
    CHECK_FALSE(best.mapping.has_value());
    return 0;
  }
  for (const int threads : {1, 2}) {
    check_same(solve(problem, {.threads = threads, .node_effort = node_effort(seed)}), best);
  }
  return networks;
}

}  // namespace dfsearch::test
