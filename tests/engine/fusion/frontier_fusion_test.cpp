// Fusions of partitions that duals pay for, against the plain model and the search.

#include "engine/fusion/frontier_fusion.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "engine/duals/frontier_duals.hpp"
#include "engine/fusion/improved_fusion.hpp"
#include "engine/fusion/relaxed_fusion.hpp"
#include "engine/mapping/mapping_problem.hpp"
#include "support/check_fusion.hpp"
#include "support/expert_problem.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {

namespace {

constexpr std::int64_t kSteps = 200'000;  // of improvements

}  // namespace

TEST_CASE("a fusion of partitions one after the other fits, at just its time, and is mostly good") {
  int found = 0;
  int best = 0;
  int better = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    const Problem problem = seed % 4 == 0 ? test::random_problem(seed, {.assignments = 1e9})
                                          : test::expert_problem(seed);
    if (problem.execution.style == Style::KernelByKernel) continue;
    const MappingProblem search(problem);
    const OuterPoint point = outer_points(problem).front();
    const auto context = search.open(point);
    const FusionTables& tables = context->tables;
    std::int64_t steps = 1'000'000'000;
    FrontierDualSearch duals_search(tables);
    duals_search.advance(steps);
    const auto duals = duals_search.take();
    if (!duals) continue;
    const auto fusion = frontier_fusion(tables, *duals, steps);
    if (!fusion) continue;
    test::check_fusion(problem, search, point, *fusion);
    ++found;
    const RelaxedFusion exact = relaxed_fusion(tables, kNever - 1, 20'000);
    REQUIRE(fusion->time >= exact.bound);
    best += fusion->time == exact.bound;
    const Fusion improved = improved_fusion(tables, *fusion, kSteps);
    test::check_fusion(problem, search, point, improved);
    REQUIRE(improved.time <= fusion->time);
    REQUIRE(improved.time >= exact.bound);
    better += improved.time < fusion->time;
  }
  CHECK(found > 300);
  CHECK(best > found / 2);
  CHECK(better > 10);
}

}  // namespace dfsearch
