#pragma once
// What a search found against what trying everything found.

#include <doctest/doctest.h>

#include "engine/solve.hpp"
#include "support/brute_force.hpp"

namespace dfsearch::test {

/// The first of the best mappings, with its proof, or the proof that there is none.
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
  CHECK(result.mapping->network == best.mapping->network);
  CHECK(result.mapping->tile == best.mapping->tile);
  CHECK(result.mapping->micro_batch == best.mapping->micro_batch);
  CHECK(result.mapping->sharding == best.mapping->sharding);
  CHECK(result.mapping->partition == best.mapping->partition);
}

}  // namespace dfsearch::test
