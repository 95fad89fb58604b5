// Duals that are looked for when they are wanted: whoever looks, and however often, finds the same.

#include "engine/fusion/lazy_duals.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "base/memory_budget.hpp"
#include "engine/duals/exact_duals.hpp"
#include "engine/mapping/mapping_problem.hpp"
#include "graph/graph_builder.hpp"
#include "support/alike_problem.hpp"
#include "support/helpers.hpp"
#include "support/open_point.hpp"
#include "support/random_problem.hpp"
#include "support/same_duals.hpp"

namespace dfsearch {

using test::same;

TEST_CASE("what is found after some attempts does not depend on those made before") {
  constexpr int kMost = 14;
  int later = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    // Large enough for the first attempt not to be the last.
    const Problem problem = test::random_problem(seed, {.kernels = 40, .assignments = 1e300});
    const auto context = test::open_point(problem, seed);
    const FusionTables& tables = context->tables;
    LazyDuals upwards(tables);
    LazyDuals downwards(tables);
    REQUIRE(downwards.after(kMost).duals == downwards.after(kMost).duals);
    Ticks before = 0;
    for (int attempts = 0; attempts <= kMost; ++attempts) {
      CAPTURE(attempts);
      const LazyDuals::Found up = upwards.after(attempts);
      const LazyDuals::Found down = downwards.after(attempts);
      REQUIRE((up.duals == nullptr) == (down.duals == nullptr));
      if (up.duals == nullptr) continue;
      REQUIRE(same(*up.duals, *down.duals));
      const Ticks bound = context->search.bound(context->search.root(), *up.duals);
      REQUIRE(bound >= before);
      before = bound;
    }
    for (int attempts = 0; attempts < kMost; ++attempts) {
      later += attempts > 0 && upwards.after(attempts).duals == nullptr &&
               upwards.after(attempts + 1).duals != nullptr;
    }
    REQUIRE(upwards.after(0).duals == nullptr);
  }
  CHECK(later > 3);
}

TEST_CASE("a search for duals ends with the deadline of its tables, and for good") {
  int found = 0;
  int thrown = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed, {.kernels = 40, .assignments = 1e300});
    std::atomic<bool> stop{false};
    const MappingProblem search(problem, {}, {},
                                {.deadline = Deadline(Seconds::infinity(), &stop)});
    const auto context = search.open(outer_points(problem).front());
    LazyDuals duals(context->tables);
    const LazyDuals::Found before = duals.after(1);
    stop = true;
    REQUIRE_THROWS_AS(ExactDualSearch(context->tables).advance(100'000'000), Stopped);
    if (before.duals != nullptr) ++found;
    // Asked for more, it throws once and then gives what it had.
    try {
      static_cast<void>(duals.after(LazyDuals::kMostAttempts));
    } catch (const Stopped&) {
    }
    const LazyDuals::Found after = duals.after(LazyDuals::kMostAttempts);
    REQUIRE(after.duals == before.duals);
    // Nobody waits for it then.
    LazyDuals late(context->tables);
    std::atomic<std::int64_t> nodes = 1 << 20;
    try {
      static_cast<void>(late.when_due(nodes, 1));
    } catch (const Stopped&) {
      ++thrown;
    }
    nodes = std::int64_t{1} << 40;
    REQUIRE_FALSE(late.is_overdue(nodes));
    late.help_to_the_end();
  }
  CHECK(thrown > 0);
  CHECK(found > 0);
  CHECK(found < 20);
}

TEST_CASE("duals of alike kernels come one after the other, whoever looked for them before") {
  int several = 0;
  int worlds = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    Problem problem = test::alike_problem(seed, 8);
    problem.execution.partitions.reset();
    const auto context = test::open_point(problem, seed);
    LazyDuals one_by_one(context->tables);
    LazyDuals at_once(context->tables);
    if (!one_by_one.are_alike()) continue;
    constexpr int kAll = LazyDuals::kMostAttempts;
    const PartitionDuals* last_at_once = at_once.after(kAll).duals;
    const FusionNode root = context->search.root();
    const PartitionDuals* last = nullptr;
    const PartitionDuals* same_at_once = nullptr;
    int count = 0;
    while (const PartitionDuals* next = one_by_one.next(last, kAll, count % 2 == 0)) {
      same_at_once = at_once.next(same_at_once, kAll, true);
      REQUIRE(same_at_once != nullptr);
      REQUIRE(same(*next, *same_at_once));
      if (last != nullptr) {
        REQUIRE(context->search.bound(root, *last) <= context->search.bound(root, *next));
      }
      last = next;
      ++count;
    }
    REQUIRE(at_once.next(same_at_once, kAll, true) == nullptr);
    REQUIRE(same_at_once == last_at_once);
    // Nothing comes of fewer attempts than it takes.
    REQUIRE(at_once.next(nullptr, 0, true) == nullptr);
    worlds += last != nullptr;
    several += count > 2;
  }
  CHECK(worlds > 10);
  CHECK(several > 10);
}

TEST_CASE("where the program would have too many rows nothing is prepared for it") {
  // The partner sets alone would take the square of the kernels.
  for (const std::int64_t kernels : {500, 600, 800}) {
    CAPTURE(kernels);
    GraphBuilder builder;
    for (std::int64_t k = 1; k <= kernels; ++k) {
      builder.elementwise("map_" + std::to_string(k), 1, 16 + k, 64);
      if (k > 1) builder.connect(k - 1, k);
    }
    Problem problem = test::random_problem(1);
    problem.workload.graph = std::move(builder).build();
    problem.execution = {};
    problem.sharding_pins.clear();
    MemoryBudget budget;
    const MappingProblem search(problem, {}, {}, {.memory = &budget});
    const auto context = search.open(outer_points(problem).front());
    const Bytes before = budget.most();
    REQUIRE(ExactDualSearch::is_possible(context->tables) == (kernels <= 512));
    LazyDuals duals(context->tables);
    static_cast<void>(duals.after(2));
    REQUIRE((budget.most() > before) == (kernels <= 768));  // of frontiers
  }
}

TEST_CASE("attempts are due after nodes that double") {
  CHECK(LazyDuals::attempts_due(0, 20, 31) == 0);
  CHECK(LazyDuals::attempts_due(19, 20, 31) == 0);
  CHECK(LazyDuals::attempts_due(20, 20, 31) == 1);
  CHECK(LazyDuals::attempts_due(39, 20, 31) == 1);
  CHECK(LazyDuals::attempts_due(40, 20, 31) == 2);
  CHECK(LazyDuals::attempts_due(79, 20, 31) == 2);
  CHECK(LazyDuals::attempts_due(80, 20, 31) == 3);
  CHECK(LazyDuals::attempts_due(20 * 1024, 20, 31) == 11);
  CHECK(LazyDuals::attempts_due(20 * 2048, 20, 31) == 12);
  CHECK(LazyDuals::attempts_due(19, 20, 320) == 0);
  CHECK(LazyDuals::attempts_due(20, 20, 32) == 2);
  CHECK(LazyDuals::attempts_due(20, 20, 96) == 4);
  CHECK(LazyDuals::attempts_due(std::numeric_limits<std::int64_t>::max(), 1, 31) ==
        LazyDuals::kMostAttempts);
  CHECK(LazyDuals::attempts_due(0, 0, 31) == LazyDuals::kMostAttempts);  // at once, with all effort
}

TEST_CASE("bounds that are dropped are not looked for") {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed);
    const OuterPoint point = outer_points(problem).front();
    const auto has_duals = [&](SearchBounds bounds) {
      const auto context = MappingProblem(problem, {}, bounds).open(point);
      return context->point->duals.after(LazyDuals::kMostAttempts).duals != nullptr;
    };
    if (!has_duals({})) continue;
    ++found;
    SearchBounds without_duals;
    without_duals.drop(SearchBound::Duals);
    CHECK_FALSE(has_duals(without_duals));
  }
  CHECK(found > 10);
}

}  // namespace dfsearch
