// The bound of a short search of fusions, against all sequences of partitions.

#include "engine/fusion/segment_fusion.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "engine/mapping/mapping_problem.hpp"
#include "support/plain_completions.hpp"
#include "support/random_problem.hpp"
#include "support/worlds.hpp"

namespace dfsearch {
namespace {

/// If nodes have weak bounds of their own, some stay open beside a good fusion.
MappingProblem weakly_bounded(const Problem& problem) {
  SearchBounds bounds;
  bounds.drop(SearchBound::Memory);
  bounds.drop(SearchBound::Hidden);
  return MappingProblem(problem, {}, bounds);
}

}  // namespace

TEST_CASE("no fusion is below the bound of a search that its steps ended" *
          doctest::test_suite("worlds")) {
  int ended = 0;
  int best_met = 0;
  for (std::uint64_t seed = 0; seed < test::share_of(12'000U); ++seed) {
    CAPTURE(seed);
    Problem problem = test::random_problem(seed, {.kernels = 11, .assignments = 1e18});
    if (problem.workload.graph.kernel_count() < 8) continue;
    problem.execution.style = Style::Dataflow;
    problem.execution.pins.clear();
    problem.system.memory[0].capacity = Bytes(1e18);
    const MappingProblem search = weakly_bounded(problem);
    const auto context = search.open(outer_points(problem).front());
    const FusionTables& tables = context->tables;
    test::PlainCompletions plain(tables);
    const Ticks least = plain.best(plain.partitions().all(), 0);
    if (least >= kNever) continue;
    const Ticks best = tables.weight_loads() + least;
    for (const std::int64_t nodes : {20, 50, 51, 52, 54, 101, 102, 104, 201, 202, 204, 401}) {
      CAPTURE(nodes);
      const RelaxedFusion found = relaxed_fusion(tables, kNever, 1000 * nodes);
      REQUIRE(found.bound <= best);
      if (found.fusion) REQUIRE(found.fusion->time >= best);
      if (found.bound < best) ++ended;
      best_met += found.bound == best;
    }
  }
  CHECK(ended > test::share_of(100));
  CHECK(best_met > test::share_of(300));
}

}  // namespace dfsearch
