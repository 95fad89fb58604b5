// Fusions of partitions from a list, against the plain model and all sequences of partitions.

#include "engine/column_fusion.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "engine/mapping_search.hpp"
#include "model/evaluate.hpp"
#include "model/sharding.hpp"
#include "support/plain_completions.hpp"
#include "support/random_problem.hpp"
#include "support/symmetric_problem.hpp"

namespace dfsearch {
namespace {

using test::Mask;

constexpr std::int64_t kEnough = 100'000'000;

/// The duals of the tables; the list holds every set of kernels that may be a partition.
std::optional<PartitionDuals> duals_of_all(const FusionTables& tables,
                                           const test::PlainCompletions& plain) {
  PartitionDualSearch search(tables);
  REQUIRE(search.advance(kEnough));
  auto duals = search.take();
  if (!duals) return duals;
  duals->partitions.clear();
  for (const Mask kernels : plain.partitions().feasible()) {
    const Ticks time = plain.time(kernels);
    duals->partitions.push_back({.kernels = test::set_of(tables.size(), kernels),
                                 .time = time,
                                 .excess = test::excess_of(*duals, tables, kernels, time),
                                 .size = std::popcount(kernels)});
  }
  return duals;
}

/// The plain model finds that it fits and takes just that time.
void check_fusion(const Problem& problem, const MappingProblem& search, OuterPoint point,
                  const Fusion& fusion) {
  const MappingSolution solution{
      .cost = {}, .point = point, .sharding = least_bytes_sharding(problem), .fusion = fusion};
  const auto judged = evaluate(problem, search.mapping(solution));
  REQUIRE(std::holds_alternative<Cost>(judged));
  const Cost& cost = std::get<Cost>(judged);
  REQUIRE(cost.layer_ticks == fusion.time);
  REQUIRE(static_cast<std::int64_t>(cost.partitions.size()) == fusion.used);
}

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
  int not_best = 0;
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
    check_fusion(problem, search, point, *fusion);
    test::PlainCompletions plain(tables);
    const Ticks best = tables.weight_loads() + plain.best(plain.partitions().all(), 0);
    REQUIRE(fusion->time >= best);
    ++found;
    pinned += has_pins(problem);
    halves +=
        problem.equations.phases == SplitPhases::Halves && problem.workload.graph.has_backward();
    not_best += fusion->time > best;
  }
  CHECK(found > 1000);
  CHECK(not_best < found / 20);
  CHECK(pinned > 50);
  CHECK(halves > 100);
}

TEST_CASE("of all partitions the best fusion is found where memory does not bind") {
  int found = 0;
  int charged = 0;
  int missed = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
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
    test::PlainCompletions plain(tables);
    const auto duals = duals_of_all(tables, plain);
    if (!duals) continue;
    const Ticks best = plain.best(plain.partitions().all(), 0);
    const auto fusion = column_fusion(tables, *duals, kEnough);
    REQUIRE(fusion.has_value() == (best < kNever));
    if (!fusion) continue;
    check_fusion(problem, search, point, *fusion);
    ++found;
    // Where partitions are charged, one with fewer of them may look too good.
    const bool with_charge = test::charge_of(*duals, tables, 1) > 0;
    charged += with_charge;
    const bool is_best = fusion->time == tables.weight_loads() + best;
    if (!with_charge) REQUIRE(is_best);
    missed += !is_best;
  }
  CHECK(found > 2000);
  CHECK(charged > 100);
  CHECK(missed <= charged / 20);
}

}  // namespace dfsearch
