// The best segments against every way to cut the order of kernels.

#include "engine/fusion/segment_fusion.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/mapping/mapping_problem.hpp"
#include "model/evaluate.hpp"
#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

/// The least time over all cuts into segments of one phase, each at the earliest
/// index it may have; as the plain model sees it.
std::optional<Ticks> best_cut(const Problem& problem, const MappingProblem& search,
                              const FusionTables& tables, OuterPoint point) {
  const std::size_t count = tables.size();
  const bool halves =
      problem.equations.phases == SplitPhases::Halves && problem.workload.graph.has_backward();
  std::optional<Ticks> best;
  for (std::uint32_t cuts = 0; cuts < (1U << (count - 1)); ++cuts) {
    MappingSolution solution{.cost = {},
                             .point = point,
                             .sharding = first_sharding(tables.decisions().sharding),
                             .fusion = {}};
    solution.fusion.partition.resize(count);
    std::int64_t index = 0;
    bool mixed = false;
    for (std::size_t p = 0; p < count; ++p) {
      const bool cut = p > 0 && (cuts >> (p - 1) & 1U) != 0;
      const bool backward = tables.kernel(p).backward;
      mixed |= p > 0 && !cut && backward != tables.kernel(p - 1).backward;
      index += cut;
      if (halves && backward && (p == 0 || cut)) {
        index = std::max(index, problem.partition_limit() / 2);
      }
      solution.fusion.partition[tables.id(p).index()] = index;
    }
    if (mixed) continue;
    const auto judged = evaluate(problem, search.mapping(solution));
    const Cost* cost = std::get_if<Cost>(&judged);
    if (cost != nullptr && (!best || cost->layer_ticks < *best)) best = cost->layer_ticks;
  }
  return best;
}

}  // namespace

TEST_CASE("the best segments are the best of all ways to cut the order") {
  int found = 0;
  int none = 0;
  int scarce = 0;
  int halved = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    Problem problem = test::random_problem(seed);
    problem.execution.style = Style::Dataflow;
    problem.execution.pins.clear();
    const auto kernels = static_cast<std::int64_t>(problem.workload.graph.kernel_count());
    // A limit that binds, one for each kernel, and more than anything needs.
    if (seed % 3 == 1) problem.execution.partitions = std::nullopt;
    if (seed % 3 == 2) problem.execution.partitions = 2 * kernels + 1;
    const MappingProblem search(problem);
    const OuterPoint point = outer_points(problem).back();
    const auto context = search.open(point);
    if (context->tables.capacity_for_activations() < Bytes{}) continue;
    const auto segments = best_segments(context->tables);
    const auto expected = best_cut(problem, search, context->tables, point);
    REQUIRE(segments.has_value() == expected.has_value());
    if (!segments) {
      ++none;
      continue;
    }
    CHECK(segments->time == *expected);
    CHECK(segments->used == partitions_used(segments->partition));
    const auto judged = evaluate(
        problem, search.mapping({.cost = {},
                                 .point = point,
                                 .sharding = first_sharding(context->tables.decisions().sharding),
                                 .fusion = *segments}));
    REQUIRE(std::holds_alternative<Cost>(judged));
    CHECK(std::get<Cost>(judged).layer_ticks == segments->time);
    ++found;
    scarce += segments->used == problem.partition_limit();
    halved +=
        problem.equations.phases == SplitPhases::Halves && problem.workload.graph.has_backward();
  }
  CHECK(found > 1500);
  CHECK(none > 300);
  CHECK(scarce > 300);
  CHECK(halved > 300);
}

TEST_CASE("kernels that are pinned have no segments") {
  Problem problem = test::idle_problem(3);
  const auto segments = [&] {
    return best_segments(MappingProblem(problem).open(outer_points(problem).front())->tables);
  };
  CHECK(segments().has_value());
  problem.execution.pins = {std::nullopt, 0, std::nullopt};
  CHECK_FALSE(segments().has_value());
}

TEST_CASE("a table of millions of entries is not begun") {
  std::vector<Kernel> kernels;
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < 2100; ++i) {
    kernels.push_back(test::elementwise("k" + std::to_string(i), 1, 1));
    if (i > 0) tensors.push_back(test::tensor(i - 1, i));
  }
  Problem problem = test::idle_problem(1);
  problem.workload.graph = DataflowGraph(std::move(kernels), std::move(tensors));
  const auto segments = [&] {
    return best_segments(MappingProblem(problem).open(outer_points(problem).front())->tables);
  };
  problem.execution.partitions = 2099;  // 2101 x 2100 entries
  CHECK_FALSE(segments().has_value());
  problem.execution.partitions = 10;
  CHECK(segments().has_value());
  problem.execution.partitions = 2100;  // nothing to count: one column
  CHECK(segments().has_value());
}

}  // namespace dfsearch
