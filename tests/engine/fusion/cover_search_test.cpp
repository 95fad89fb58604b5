// The best fusion by covers, against all sequences of partitions and the plain model.

#include "engine/fusion/cover_search.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <utility>

#include "engine/mapping/mapping_problem.hpp"
#include "support/check_fusion.hpp"
#include "support/plain_completions.hpp"
#include "support/random_problem.hpp"
#include "support/symmetric_problem.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kEnoughCovers = 100'000'000;

/// As good as duals can be, or too low by up to a quarter.
std::optional<PartitionDuals> some_duals(const FusionTables& tables, std::mt19937_64& random) {
  ExactDualSearch search(tables);
  REQUIRE(search.advance(kEnoughCovers));
  auto duals = search.take();
  if (!duals || test::pick(random, 0, 2) == 0) return duals;
  const std::int64_t kept = test::pick(random, 3, 9);
  for (FineTicks& dual : duals->kernels) dual -= dual / (kept + 1);
  return duals;
}

Problem covered_world(std::uint64_t seed) {
  return seed % 4 == 0 ? test::symmetric_problem(seed)
                       : test::random_problem(seed, {.assignments = 1e9});
}

}  // namespace

TEST_CASE("the search by covers ends with the best fusion") {
  int proved = 0;
  int above_duals = 0;
  int unknown = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    CAPTURE(seed);
    Problem problem = covered_world(seed);
    if (problem.execution.style == Style::KernelByKernel) continue;
    problem.execution.pins.clear();
    problem.system.memory[0].capacity = Bytes(1e18);
    const MappingProblem search(problem);
    const OuterPoint point = outer_points(problem).front();
    const auto context = search.open(point);
    const FusionTables& tables = context->tables;
    std::mt19937_64 random(seed);
    const auto duals = some_duals(tables, random);
    if (!duals) continue;
    test::PlainCompletions plain(tables);
    const Ticks best = plain.best(plain.partitions().all(), 0);
    CoverSearch covers(tables, *duals);
    REQUIRE(covers.least() == context->search.bound(context->search.root(), *duals));
    Ticks known = covers.least();
    std::optional<Fusion> fusion;
    bool ended = false;
    for (std::int64_t steps = 4; !ended; steps *= 2) {
      ended = covers.advance(steps);
      REQUIRE(covers.least() >= known);
      known = covers.least();
      if (auto better = covers.take()) fusion = std::move(better);
    }
    if (best >= kNever) {
      REQUIRE_FALSE(fusion);
      continue;
    }
    REQUIRE(known <= tables.weight_loads() + best);
    if (!fusion) {
      // Half of the bound more is looked at for sure.
      const Ticks bound = context->search.bound(context->search.root(), *duals);
      const bool is_far = best > (bound - tables.weight_loads()) / 2 * 3;
      REQUIRE((tables.has_halves() || is_far));
      ++unknown;
      continue;
    }
    test::check_fusion(problem, search, point, *fusion);
    REQUIRE(fusion->time == known);
    REQUIRE(fusion->time == tables.weight_loads() + best);
    ++proved;
    above_duals += fusion->time > context->search.bound(context->search.root(), *duals);
  }
  CHECK(proved > 1500);
  CHECK(above_duals > 1000);
  CHECK(unknown < proved / 10);
}

TEST_CASE(
    "however short the lists, and where memory or pins forbid covers, what is known is true") {
  int proved = 0;
  int raised = 0;
  int unknown = 0;
  int short_lists = 0;  // that proved more than the duals
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    const Problem problem = covered_world(seed);
    if (problem.execution.style == Style::KernelByKernel) continue;
    const MappingProblem search(problem);
    const OuterPoint point = outer_points(problem).front();
    const auto context = search.open(point);
    const FusionTables& tables = context->tables;
    std::mt19937_64 random(seed);
    const auto duals = some_duals(tables, random);
    if (!duals) continue;
    CoverLists lists;
    if (seed % 2 == 0) {
      lists.first = static_cast<std::size_t>(test::pick(random, 1, 12));
      lists.most = lists.first * static_cast<std::size_t>(test::pick(random, 1, 4));
    }
    CoverSearch covers(tables, *duals, nullptr, lists);
    const Ticks first = covers.least();
    REQUIRE(covers.advance(kEnoughCovers));
    test::PlainCompletions plain(tables);
    const Ticks best = plain.best(plain.partitions().all(), 0);
    if (best < kNever) REQUIRE(covers.least() <= tables.weight_loads() + best);
    raised += covers.least() > first;
    const auto fusion = covers.take();
    unknown += seed % 2 == 0 && best < kNever && !fusion;
    if (!fusion) continue;
    test::check_fusion(problem, search, point, *fusion);
    REQUIRE(fusion->time == covers.least());
    ++proved;
    short_lists += seed % 2 == 0 && fusion->time > first;
  }
  CHECK(proved > 500);
  CHECK(raised > 500);
  CHECK(unknown > 100);
  CHECK(short_lists > 100);
}

}  // namespace dfsearch
