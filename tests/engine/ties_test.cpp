// Worlds with many best mappings: the answer is one of them, of deterministic searches the same for
// any number of threads.

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/solve.hpp"
#include "support/brute_force.hpp"
#include "support/model_worlds.hpp"
#include "support/node_efforts.hpp"
#include "support/random_problem.hpp"
#include "support/worlds.hpp"

namespace dfsearch {
namespace {

using test::pick;
using Random = std::mt19937_64;

/// Equal or nearly equal kernels under a memory and a network that are never in
/// the way: every mapping that fits costs the same, or most do.
Problem tied_problem(std::uint64_t seed) {
  Random random(seed);
  const auto count = static_cast<std::size_t>(pick(random, 3, 7));
  std::vector<Kernel> kernels;
  const Kernel model =
      pick(random, 0, 1) == 0 ? test::weight_gemm("k", 2, 3, 2) : test::elementwise("k", 4, 2);
  const bool backward = pick(random, 0, 2) == 0;
  for (std::size_t i = 0; i < count; ++i) {
    Kernel kernel = model;
    kernel.name = std::string(1, static_cast<char>('a' + i));
    if (pick(random, 0, 4) == 0) kernel.m += 1;
    if (backward && 2 * i >= count) kernel.phase = Phase::Backward;
    kernels.push_back(kernel);
  }
  std::vector<Tensor> tensors;
  const std::int64_t density = pick(random, 0, 50);
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t to = from + 1; to < count; ++to) {
      if (pick(random, 1, 100) <= density) tensors.push_back(test::tensor(from, to));
    }
  }
  Problem problem;
  problem.workload.graph = DataflowGraph(std::move(kernels), std::move(tensors));
  problem.workload.sequence = 2;
  problem.system.accelerator = {.cores = pick(random, 2, 5),
                                .lanes = 1,
                                .stages = 1,
                                .frequency = Hertz(1.0),
                                .sram = Bytes(static_cast<double>(pick(random, 30, 90)))};
  problem.system.memory[0].bandwidth = BytesPerSecond(pick(random, 0, 3) == 0 ? 10.0 : 1e6);
  if (pick(random, 0, 3) == 0) problem.system.memory[0].capacity = Bytes(200.0);
  problem.execution.compute_utilization = 0.5;
  problem.execution.partitions = std::min<std::int64_t>(4, static_cast<std::int64_t>(count));
  if (pick(random, 0, 1) == 0) problem.equations.phases = SplitPhases::Halves;
  return problem;
}

enum class Shape { Chain, Tree, Layers, Experts, Training, Loose };

/// 20 to 30 kernels, too many to try all mappings.
DataflowGraph large_graph(Shape shape, Random& random) {
  const auto count = static_cast<std::size_t>(pick(random, 20, 30));
  std::vector<Kernel> kernels;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = "k" + std::to_string(i);
    kernels.push_back(pick(random, 0, 1) == 0
                          ? test::weight_gemm(name, pick(random, 2, 8), pick(random, 2, 8), 8)
                          : test::elementwise(name, pick(random, 2, 8), 8));
  }
  std::vector<Tensor> tensors;
  const auto join = [&](std::size_t from, std::size_t to) {
    tensors.push_back(test::tensor(from, to));
  };
  for (std::size_t i = 1; i < count; ++i) {
    switch (shape) {
      case Shape::Chain:
        join(i - 1, i);
        if (i > 3 && i % 4 == 0) join(i - 4, i);
        break;
      case Shape::Tree:
        join((i - 1) / 2, i);
        break;
      case Shape::Layers:  // four wide
        if (i >= 4) join(i - 4, i);
        if (i >= 4 && i % 4 != 3) join(i - 3, i);
        break;
      case Shape::Experts:  // chains of two from the first to the last
        if (i % 2 == 0) join(i - 1, i);
        kernels[i].kind = KernelKind::WeightGemm;
        kernels[i].mode = Mode::Systolic;
        kernels[i].m = 4;
        kernels[i].k = 6;
        if (i % 2 == 1) join(0, i);
        break;
      case Shape::Training:  // a chain, backwards, and an update for each
        if (i < count / 3 || (i >= count / 3 && i < 2 * count / 3)) join(i - 1, i);
        if (i >= 2 * count / 3) {
          join(i - 2 * count / 3, i);
          join(i - count / 3, i);
        }
        if (i >= count / 3) kernels[i].phase = Phase::Backward;
        break;
      case Shape::Loose:
        if (i % 3 != 0) join(i - 1, i);
        break;
    }
  }
  return {std::move(kernels), std::move(tensors)};
}

Problem large_problem(Shape shape, std::uint64_t seed) {
  Random random(seed);
  Problem problem;
  problem.workload.graph = large_graph(shape, random);
  problem.workload.sequence = 8;
  problem.workload.tile = pick(random, 1, 4);
  problem.system.chips = 2;
  problem.system.network = {test::dimension(Topology::Ring, 2, 400.0)};
  problem.system.accelerator = {.cores = 12,
                                .lanes = 2,
                                .stages = 2,
                                .frequency = Hertz(2.0),
                                .sram = Bytes(static_cast<double>(pick(random, 350, 600)))};
  problem.system.memory[0].bandwidth = BytesPerSecond(static_cast<double>(pick(random, 40, 200)));
  if (pick(random, 0, 1) == 0) problem.execution.compute_utilization = 1.0;
  problem.execution.partitions = pick(random, 10, 14);
  if (pick(random, 0, 1) == 0) problem.equations.phases = SplitPhases::Halves;
  return problem;
}

}  // namespace

TEST_CASE("one of many best mappings is found, a deterministic search finds the same each time" *
          doctest::test_suite("worlds")) {
  const tbb::global_control eight(tbb::global_control::max_allowed_parallelism, 8);
  int tied = 0;
  for (std::uint64_t seed = 0; seed < test::share_of(500U); ++seed) {
    CAPTURE(seed);
    const Problem problem = tied_problem(seed);
    const test::BruteForceResult best = test::brute_force(problem);
    tied += best.feasible > 20;
    std::optional<Mapping> first;
    for (const int threads : {1, 2, 8}) {
      for (const bool deterministic : {false, true}) {
        CAPTURE(threads);
        CAPTURE(deterministic);
        const SearchResult result = solve(problem, {.threads = threads,
                                                    .deterministic = deterministic,
                                                    .node_effort = test::node_effort(seed)});
        REQUIRE(result.mapping.has_value() == best.mapping.has_value());
        if (!best.mapping) continue;
        CHECK(result.cost->objective == best.objective);
        if (!deterministic) continue;
        if (!first) first = result.mapping;
        CHECK(*result.mapping == *first);
      }
    }
  }
  CHECK(tied > test::share_of(250));
}

TEST_CASE("on larger graphs deterministic searches have the same answer on any number of threads" *
          doctest::test_suite("slow")) {
  const tbb::global_control eight(tbb::global_control::max_allowed_parallelism, 8);
  int solved = 0;
  for (const Shape shape :
       {Shape::Chain, Shape::Tree, Shape::Layers, Shape::Experts, Shape::Training, Shape::Loose}) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      CAPTURE(static_cast<int>(shape));
      CAPTURE(seed);
      const Problem problem = large_problem(shape, seed);
      const SearchResult first =
          solve(problem, {.limits = {.nodes = 5'000}, .deterministic = true});
      // Problems that take seconds are not solved a dozen times.
      if (first.status != SearchStatus::Optimal || first.stats.nodes > 10'000) continue;
      ++solved;
      const auto judged = evaluate(problem, *first.mapping);
      REQUIRE(std::holds_alternative<Cost>(judged));
      CHECK(std::get<Cost>(judged).objective == first.cost->objective);
      CHECK(first.lower_bound == first.cost->objective);
      for (const int threads : {1, 2, 8}) {
        for (const bool deterministic : {false, true}) {
          const SearchResult again =
              solve(problem, {.threads = threads, .deterministic = deterministic});
          REQUIRE(again.status == SearchStatus::Optimal);
          if (deterministic) CHECK(*again.mapping == *first.mapping);
          CHECK(again.cost->layer_ticks == first.cost->layer_ticks);
        }
      }
    }
  }
  CHECK(solved > 20);
}

}  // namespace dfsearch
