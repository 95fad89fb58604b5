// The best segments against every way to cut the order of kernels.

#include "engine/fusion/segment_fusion.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/fusion/move_fusion.hpp"
#include "engine/fusion/open_partition.hpp"
#include "engine/fusion/partition_sequence.hpp"
#include "engine/mapping/mapping_problem.hpp"
#include "model/evaluate.hpp"
#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

/// The least time over all cuts of an order into segments of one phase, each at the earliest
/// index it may have; as the plain model sees it.
std::optional<Ticks> best_cut(const Problem& problem, const MappingProblem& search,
                              const FusionTables& tables, OuterPoint point,
                              const std::vector<std::size_t>& order) {
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
      const bool backward = tables.kernel(order[p]).backward;
      mixed |= p > 0 && !cut && backward != tables.kernel(order[p - 1]).backward;
      index += cut;
      if (halves && backward && (p == 0 || cut)) {
        index = std::max(index, problem.partition_limit() / 2);
      }
      solution.fusion.partition[tables.id(order[p]).index()] = index;
    }
    if (mixed) continue;
    const auto judged = evaluate(problem, search.mapping(solution));
    const Cost* cost = std::get_if<Cost>(&judged);
    if (cost != nullptr && (!best || cost->layer_ticks < *best)) best = cost->layer_ticks;
  }
  return best;
}

std::vector<std::size_t> order_of(const FusionTables& tables) {
  std::vector<std::size_t> order(tables.size());
  for (std::size_t p = 0; p < order.size(); ++p) order[p] = p;
  return order;
}

std::vector<std::uint32_t> places_of(const FusionTables& tables, const Fusion& fusion) {
  std::vector<std::uint32_t> places;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    places.push_back(static_cast<std::uint32_t>(fusion.partition[tables.id(p).index()]));
  }
  return places;
}

/// Partition by partition.
std::vector<std::size_t> order_of(const FusionTables& tables, const Fusion& fusion) {
  std::vector<std::size_t> order;
  for (std::int64_t index = 0; order.size() < tables.size(); ++index) {
    for (std::size_t p = 0; p < tables.size(); ++p) {
      if (fusion.partition[tables.id(p).index()] == index) order.push_back(p);
    }
  }
  return order;
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
    const auto expected =
        best_cut(problem, search, context->tables, point, order_of(context->tables));
    REQUIRE(segments.has_value() == expected.has_value());
    if (!segments) {
      ++none;
      continue;
    }
    CHECK(segments->time == *expected);
    const auto judged = evaluate(
        problem, search.mapping({.cost = {},
                                 .point = point,
                                 .sharding = first_sharding(context->tables.decisions().sharding),
                                 .fusion = *segments}));
    REQUIRE(std::holds_alternative<Cost>(judged));
    CHECK(std::get<Cost>(judged).layer_ticks == segments->time);
    ++found;
    scarce += test::partitions_used(segments->partition) == problem.partition_limit();
    halved +=
        problem.equations.phases == SplitPhases::Halves && problem.workload.graph.has_backward();
  }
  CHECK(found > 1500);
  CHECK(none > 300);
  CHECK(scarce > 300);
  CHECK(halved > 300);
}

/// Of an order that is drawn, cut anywhere; nothing if it is not allowed.
std::optional<Fusion> drawn_fusion(const FusionTables& tables, std::mt19937_64& random) {
  KernelSet done(tables.size());
  std::vector<KernelSet> sets;
  while (done.size() < tables.size()) {
    std::vector<std::size_t> ready;
    for (std::size_t p = 0; p < tables.size(); ++p) {
      const auto& inputs = tables.inputs(p);
      const bool is_ready = std::all_of(inputs.begin(), inputs.end(),
                                        [&](const Arc& arc) { return done.contains(arc.other); });
      if (is_ready && !done.contains(p)) ready.push_back(p);
    }
    const std::size_t next = ready[static_cast<std::size_t>(
        test::pick(random, 0, static_cast<std::int64_t>(ready.size()) - 1))];
    if (sets.empty() || test::pick(random, 0, 2) > 0) sets.emplace_back(tables.size());
    sets.back().insert(next);
    done.insert(next);
  }
  return fusion_of(tables, sets);
}

TEST_CASE("the order of any fusion is cut again in the best of all ways") {
  std::mt19937_64 random(1);
  int same = 0;
  int better = 0;
  int mixed = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    Problem problem = test::random_problem(seed, {.kernels = 9, .assignments = 1e9});
    problem.execution.style = Style::Dataflow;
    problem.execution.pins.clear();
    const MappingProblem search(problem);
    const OuterPoint point = outer_points(problem).back();
    const auto context = search.open(point);
    const FusionTables& tables = context->tables;
    if (tables.capacity_for_activations() < Bytes{}) continue;
    const auto drawn = drawn_fusion(tables, random);
    if (!drawn) continue;
    Work work = 0;
    const auto again = best_segments(tables, places_of(tables, *drawn), work);
    REQUIRE(work > 0);
    const auto expected = best_cut(problem, search, tables, point, order_of(tables, *drawn));
    REQUIRE(again.has_value() == expected.has_value());
    if (!again) {
      ++mixed;  // segments are of one phase
      continue;
    }
    CHECK(again->time == *expected);
    const auto judged =
        evaluate(problem, search.mapping({.cost = {},
                                          .point = point,
                                          .sharding = first_sharding(tables.decisions().sharding),
                                          .fusion = *again}));
    REQUIRE(std::holds_alternative<Cost>(judged));
    CHECK(std::get<Cost>(judged).layer_ticks == again->time);
    same += again->time == drawn->time;
    better += again->time < drawn->time;
    if (!MoveSearch::is_possible(tables)) continue;
    // It is a beginning like any other.
    MoveSearch moves(tables, *drawn, seed);
    moves.go_on_from(*again);
    CHECK(moves.best().time == again->time);
    Work all = kNever / 1'000;
    REQUIRE(moves.advance(all));
    CHECK(moves.best().time <= again->time);
  }
  CHECK(same > 30);
  CHECK(better > 300);
  CHECK(mixed < 30);
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

/// The least time of all ways to cut the order into at most `most` segments, by their times.
Ticks least_of_cuts(const FusionTables& tables, std::int64_t most) {
  const std::size_t count = tables.size();
  std::vector<Ticks> least(count + 1, kNever);
  least[0] = tables.weight_loads();
  std::vector<std::vector<std::pair<std::size_t, Ticks>>> segments(count);
  for (std::size_t begin = 0; begin < count; ++begin) {
    KernelSet done(count);
    for (std::size_t p = 0; p < begin; ++p) done.insert(p);
    OpenPartition partition(tables, done);
    for (std::size_t end = begin; end < count; ++end) {
      const bool alone = !partition.fits(end);
      if (alone && (end > begin || !tables.kernel(end).escapes)) break;
      partition.put_in(end);
      segments[begin].emplace_back(end + 1, partition.time(kNever));
      if (alone) break;
    }
  }
  Ticks best = kNever;
  for (std::int64_t used = 1; used <= most; ++used) {
    std::vector<Ticks> next(count + 1, kNever);
    for (std::size_t begin = 0; begin < count; ++begin) {
      if (least[begin] >= kNever) continue;
      for (const auto& [end, time] : segments[begin]) {
        next[end] = std::min(next[end], least[begin] + time);
      }
    }
    least = std::move(next);
    best = std::min(best, least[count]);
  }
  return best;
}

// The table would have more than a million entries.
TEST_CASE("in large graphs no cut into as few segments is better") {
  std::mt19937_64 random(1);
  std::vector<Kernel> kernels;
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < 2000; ++i) {
    kernels.push_back(test::weight_gemm("k" + std::to_string(i), test::pick(random, 1, 9),
                                        test::pick(random, 1, 7), 1));
    if (i > 0) tensors.push_back(test::tensor(i - 1, i));
  }
  Problem problem = test::idle_problem(1);
  problem.workload.graph = DataflowGraph(std::move(kernels), std::move(tensors));
  problem.execution.style = Style::Dataflow;
  problem.execution.compute_utilization = 0.5;
  problem.system.accelerator.cores = 100;
  problem.system.accelerator.sram = Bytes(150.0);
  const auto segments = [&](std::int64_t limit) {
    problem.execution.partitions = limit;
    return best_segments(MappingProblem(problem).open(outer_points(problem).front())->tables);
  };
  const auto free = segments(1999);
  REQUIRE(free.has_value());
  int charged = 0;
  for (const std::int64_t fewer : {1, 4, 16}) {
    CAPTURE(fewer);
    const auto found = segments(test::partitions_used(free->partition) - fewer);
    if (!found) continue;
    ++charged;
    CHECK(test::partitions_used(found->partition) <=
          test::partitions_used(free->partition) - fewer);
    CHECK(found->time >= free->time);
    const MappingProblem search(problem);
    const auto context = search.open(outer_points(problem).front());
    CHECK(found->time == least_of_cuts(context->tables, test::partitions_used(found->partition)));
    MappingSolution solution{.cost = {},
                             .point = outer_points(problem).front(),
                             .sharding = first_sharding(context->tables.decisions().sharding),
                             .fusion = *found};
    const auto judged = evaluate(problem, search.mapping(solution));
    const Cost* cost = std::get_if<Cost>(&judged);
    REQUIRE(cost != nullptr);
    CHECK(cost->layer_ticks == found->time);
  }
  CHECK(charged >= 2);
  CHECK_FALSE(segments(10).has_value());
}

}  // namespace dfsearch
