#include "engine/fusion/window_fusion.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <variant>
#include <vector>

#include "engine/fusion/open_partition.hpp"
#include "engine/fusion/relaxed_fusion.hpp"
#include "engine/fusion/segment_fusion.hpp"
#include "support/open_point.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

/// With a network and a sharding that are given.
Problem window_world(std::uint64_t seed) {
  test::WorldLimits limits;
  limits.kernels = 9;
  limits.assignments = 1e9;
  return test::random_problem(seed, limits);
}

/// What `evaluate` says of a fusion of the point.
const Cost* cost_of(const Problem& problem, const FusionContext& context, const Fusion& fusion,
                    std::variant<Cost, Infeasible>& result) {
  const LayerDecisions& decided = context.tables.decisions();
  Mapping mapping{.network = decided.network,
                  .micro_batch = decided.micro_batch,
                  .tile = decided.tile,
                  .sharding = {},
                  .partition = fusion.partition,
                  .cores = {}};
  for (const LoopSet loops : decided.sharding) mapping.sharding.push_back(loops.front());
  result = evaluate(problem, mapping);
  return std::get_if<Cost>(&result);
}

TEST_CASE("windows improve a fusion to the best, where one window holds all kernels") {
  int better = 0;
  int searched = 0;
  for (std::uint64_t seed = 0; seed < 1'500; ++seed) {
    CAPTURE(seed);
    const Problem problem = window_world(seed);
    if (problem.execution.style == Style::KernelByKernel) continue;
    const auto context = test::open_point(problem, seed);
    const FusionTables& tables = context->tables;
    if (!WindowSearch::is_possible(tables) || tables.decisions().spilled) continue;
    const auto start = best_segments(tables);
    if (!start) continue;
    ++searched;
    WindowSearch search(tables, *start);
    CHECK(search.time() == start->time);
    bool ended = false;
    for (int i = 0; i < 100 && !ended; ++i) {
      const Ticks before = search.time();
      ended = search.advance(20'000);
      CHECK(search.time() <= before);
    }
    REQUIRE(ended);
    const Fusion best = search.best();
    CHECK(best.time == search.time());
    better += best.time < start->time;
    std::variant<Cost, Infeasible> result;
    const Cost* cost = cost_of(problem, *context, best, result);
    REQUIRE(cost != nullptr);
    CHECK(cost->layer_ticks == best.time);
    CHECK(static_cast<std::int64_t>(cost->partitions.size()) == best.used);
    const bool limited = tables.capacity_for_activations() < Bytes::infinity();
    if (tables.has_halves() || limited) continue;
    const RelaxedFusion exact = relaxed_fusion(tables, kNever - 1, 1'000'000'000);
    REQUIRE(exact.fusion);
    CHECK(best.time == exact.fusion->time);
  }
  CHECK(searched > 500);
  CHECK(better > 20);
}

TEST_CASE("a window costs what its kernels cost in the whole") {
  int windows = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const Problem problem = window_world(seed);
    const auto context = test::open_point(problem, seed);
    const FusionTables& tables = context->tables;
    if (!WindowSearch::is_possible(tables)) continue;
    std::mt19937_64 random(seed);
    // Positions are in topological order: what lies between two of them is a window.
    const auto size = static_cast<std::int64_t>(tables.size());
    const auto begin = static_cast<std::size_t>(test::pick(random, 0, size - 1));
    const auto end =
        static_cast<std::size_t>(test::pick(random, static_cast<std::int64_t>(begin) + 1, size));
    std::vector<std::size_t> kernels;
    KernelSet done(tables.size());
    for (std::size_t p = 0; p < end; ++p) {
      if (p < begin) done.insert(p);
      if (p >= begin) kernels.push_back(p);
    }
    const FusionTables window(tables, kernels, 3);
    CHECK(window.partition_limit() == 3);
    OpenPartition of_whole(tables, done);
    OpenPartition of_window(window, KernelSet(window.size()));
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (!of_whole.fits(kernels[i])) {
        CHECK_FALSE(of_window.fits(i));
        break;
      }
      REQUIRE(of_window.fits(i));
      of_whole.put_in(kernels[i]);
      of_window.put_in(i);
      CHECK(of_window.totals().sram == of_whole.totals().sram);
      CHECK(of_window.totals().memory == of_whole.totals().memory);
      CHECK(of_window.time(kNever) == of_whole.time(kNever));
      ++windows;
    }
  }
  CHECK(windows > 300);
}

}  // namespace
}  // namespace dfsearch
