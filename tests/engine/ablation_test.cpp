// The search without one of its bounds, and without any.

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <set>
#include <string_view>
#include <vector>

#include "engine/solve.hpp"
#include "engine/tables/search_bounds.hpp"
#include "model/machine/network_choices.hpp"
#include "support/brute_force.hpp"
#include "support/machine_worlds.hpp"
#include "support/node_efforts.hpp"
#include "support/random_problem.hpp"
#include "support/same_answer.hpp"
#include "support/symmetric_problem.hpp"
#include "support/worlds.hpp"

namespace dfsearch {
namespace {

using Names = std::set<std::string_view>;

SearchBounds without(SearchBound bound) {
  SearchBounds bounds;
  bounds.drop(bound);
  return bounds;
}

SearchBounds without_any() {
  SearchBounds bounds;
  for (const SearchBoundName& known : kSearchBounds) bounds.drop(known.bound);
  return bounds;
}

/// What a search says beside its best mapping.
void check_same_remarks(const SearchResult& result, const SearchResult& with_all) {
  REQUIRE(result.infeasible.has_value() == with_all.infeasible.has_value());
  if (result.infeasible) {
    CHECK(result.infeasible->resource == with_all.infeasible->resource);
    CHECK(result.infeasible->needed == with_all.infeasible->needed);
    CHECK(result.infeasible->where == with_all.infeasible->where);
  }
  CHECK(result.alternatives_complete == with_all.alternatives_complete);
  REQUIRE(result.alternatives.size() == with_all.alternatives.size());
  for (std::size_t i = 0; i < result.alternatives.size(); ++i) {
    CHECK(result.alternatives[i].cost->objective == with_all.alternatives[i].cost->objective);
    CHECK(result.alternatives[i].mapping->partition == with_all.alternatives[i].mapping->partition);
  }
}

/// Searches the worlds of the seeds below `count` without each bound in turn and
/// without any; returns the bounds that made a difference to the effort in one of
/// them.
Names search_without_each(std::uint64_t count, const std::function<Problem(std::uint64_t)>& world) {
  Names matter;
  std::uint64_t feasible = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    CAPTURE(seed);
    const Problem problem = world(seed);
    if (network_choices(problem).empty()) continue;
    const test::BruteForceResult best = test::brute_force(problem);
    feasible += best.mapping.has_value();
    NodeEffort effort = test::node_effort(seed);
    // Short enumerations are cut into nodes, so that their bounds show in the count.
    if (seed % 2 == 0) effort.steps = 5;
    const SearchResult with_all = solve(problem, {.node_effort = effort, .next_best = true});
    for (const SearchBoundName& known : kSearchBounds) {
      CAPTURE(known.name);
      const SearchResult result = solve(
          problem, {.node_effort = effort, .bounds = without(known.bound), .next_best = true});
      test::check_same(result, best);
      check_same_remarks(result, with_all);
      if (result.stats.nodes != with_all.stats.nodes) matter.insert(known.name);
    }
    const SearchResult result = solve(
        problem, {.threads = 2, .node_effort = effort, .bounds = without_any(), .next_best = true});
    test::check_same(result, best);
    check_same_remarks(result, with_all);
  }
  CHECK(feasible > count / 4);
  return matter;
}

/// A switch that switches nothing would pass everything else.
void require(const Names& matter, std::initializer_list<std::string_view> expected) {
  for (const std::string_view name : expected) {
    CAPTURE(name);
    CHECK(matter.contains(name));
  }
}

}  // namespace

TEST_CASE("every bound has one name, in the order of the enumeration") {
  Names names;
  for (std::size_t i = 0; i < kSearchBounds.size(); ++i) {
    const SearchBoundName& known = kSearchBounds[i];
    CHECK(static_cast<std::size_t>(known.bound) == i);
    names.insert(known.name);
    CHECK(without(known.bound).dropped() == std::vector{known.name});
  }
  CHECK(names.size() == kSearchBounds.size());
  CHECK(without_any().dropped().size() == kSearchBounds.size());
  CHECK(SearchBounds().use_all());
  CHECK_FALSE(without_any().use_all());
}

TEST_CASE("without one bound or any the answer of a layer is the same" *
          doctest::test_suite("slow")) {
  require(search_without_each(320,
                              [](std::uint64_t seed) {
                                return test::random_problem(seed,
                                                            {.kernels = 6, .assignments = 2000});
                              }),
          {"compute", "network", "memory", "hidden", "partial", "partitions", "transpositions",
           "segments", "duals"});
}

TEST_CASE("without one bound or any the answer of a machine is the same") {
  require(search_without_each(240,
                              [](std::uint64_t seed) {
                                return test::random_machine_problem(seed,
                                                                    {.kernels = 5,
                                                                     .assignments = 500,
                                                                     .free_machine = seed % 3 == 0,
                                                                     .joint = seed % 4 == 0});
                              }),
          {"point", "partitions", "segments", "duals"});
}

TEST_CASE("without one bound or any the answer of symmetric graphs is the same" *
          doctest::test_suite("slow")) {
  require(search_without_each(450, test::symmetric_problem), {"symmetry", "transpositions"});
}

TEST_CASE("without one bound or any the sharding found with the fusion is the same" *
          doctest::test_suite("worlds")) {
  require(
      search_without_each(test::share_of(300U),
                          [](std::uint64_t seed) {
                            return test::random_problem(
                                seed, {.kernels = 4, .assignments = 2000, .joint = true});
                          }),
      {"relaxation", "multipliers", "completion", "dominated_loops", "symmetry", "duals", "tiles"});
}

TEST_CASE("without one bound or any the sharding found kernel by kernel is the same") {
  require(search_without_each(300,
                              [](std::uint64_t seed) {
                                Problem problem = test::random_problem(
                                    seed, {.kernels = 5, .assignments = 2000, .joint = true});
                                problem.execution.style = Style::KernelByKernel;
                                problem.execution.pins.clear();
                                return problem;
                              }),
          {"lone_kernels", "tiles"});
}

}  // namespace dfsearch
