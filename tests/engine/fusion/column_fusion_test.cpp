// Fusions of partitions from a list, against the plain model and all sequences of partitions.

#include "engine/fusion/column_fusion.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/mapping/mapping_problem.hpp"
#include "support/check_fusion.hpp"
#include "support/plain_completions.hpp"
#include "support/random_problem.hpp"
#include "support/symmetric_problem.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kEnough = 100'000'000;

bool has_pins(const Problem& problem) {
  for (const auto& pin : problem.execution.pins) {
    if (pin) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a fusion of the partitions met fits, pins and halves included, at just its time") {
  int found = 0;
  int pinned = 0;
  int halves = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    const Problem problem = seed % 4 == 0 ? test::symmetric_problem(seed)
                                          : test::random_problem(seed, {.assignments = 1e9});
    if (problem.execution.style == Style::KernelByKernel) continue;
    const MappingProblem search(problem);
    const OuterPoint point = outer_points(problem).front();
    const auto context = search.open(point);
    const FusionTables& tables = context->tables;
    PartitionDualSearch dual_search(tables);
    REQUIRE(dual_search.advance(kEnough));
    const auto duals = dual_search.take();
    if (!duals) continue;
    const auto fusion = column_fusion(tables, *duals, 10'000);
    if (!fusion) continue;
    test::check_fusion(problem, search, point, *fusion);
    REQUIRE(fusion->time == context->search.bound(context->search.root(), *duals));
    ++found;
    pinned += has_pins(problem);
    halves +=
        problem.equations.phases == SplitPhases::Halves && problem.workload.graph.has_backward();
  }
  CHECK(found > 1000);
  CHECK(pinned > 50);
  CHECK(halves > 100);
}

TEST_CASE("a fusion that takes just the bound is mostly found where memory does not bind") {
  int found = 0;
  int within_reach = 0;
  int out_of_reach = 0;
  int charged = 0;
  for (std::uint64_t seed = 0; seed < 9000; ++seed) {
    CAPTURE(seed);
    Problem problem = seed % 4 == 0 ? test::symmetric_problem(seed)
                                    : test::random_problem(seed, {.assignments = 1e9});
    if (problem.execution.style == Style::KernelByKernel) continue;
    problem.execution.pins.clear();
    problem.system.memory.capacity = Bytes(1e18);
    const MappingProblem search(problem);
    const OuterPoint point = outer_points(problem).front();
    const auto context = search.open(point);
    const FusionTables& tables = context->tables;
    PartitionDualSearch dual_search(tables);
    REQUIRE(dual_search.advance(kEnough));
    const auto duals = dual_search.take();
    if (!duals) continue;
    test::PlainCompletions plain(tables);
    const Ticks best = plain.best(plain.partitions().all(), 0);
    const bool reached = best < kNever && tables.weight_loads() + best ==
                                              context->search.bound(context->search.root(), *duals);
    const auto fusion = column_fusion(tables, *duals, kEnough);
    ++(reached ? within_reach : out_of_reach);
    if (!fusion) continue;
    ++found;
    test::check_fusion(problem, search, point, *fusion);
    REQUIRE(fusion->time == context->search.bound(context->search.root(), *duals));
    charged += duals->charge != std::array<FineTicks, 2>{};
  }
  CHECK(found >= within_reach * 49 / 50);
  CHECK(out_of_reach > 100);
  CHECK(charged > 50);
}

}  // namespace dfsearch
