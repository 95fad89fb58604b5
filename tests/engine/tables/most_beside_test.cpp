// The knapsacks of all kernels against a knapsack of its own for each, from what pairs of kernels
// tell (FusionTables::may_share), in graphs with and without regard to paths.

#include "engine/tables/most_beside.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/mapping/mapping_problem.hpp"
#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

using test::chance;
using test::pick;
using Random = std::mt19937_64;

/// Kernels of both phases, with and without weights, some repeated, some too large for company,
/// some pinned.
Problem random_world(Random& random, std::size_t count) {
  Problem problem = test::idle_problem(1);
  std::vector<Kernel> kernels;
  std::vector<Tensor> tensors;
  const bool has_pins = chance(random, 40);
  const bool has_phases = chance(random, 60);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = "k" + std::to_string(i);
    const std::int64_t rows = chance(random, 5) ? 60 : pick(random, 1, 9);
    kernels.push_back(chance(random, 60)
                          ? test::weight_gemm(name, rows, pick(random, 1, 9), pick(random, 1, 3))
                          : test::elementwise(name, rows, pick(random, 1, 9)));
    if (has_phases && i > count / 2) kernels.back().phase = Phase::Backward;
    if (chance(random, 10)) kernels.back().repeat = 2;
    if (i > 0 && chance(random, 70)) {
      const auto from = pick(random, 0, static_cast<std::int64_t>(i) - 1);
      tensors.push_back(test::tensor(static_cast<std::size_t>(from), i));
    }
    problem.execution.pins.emplace_back(std::nullopt);
    if (has_pins && chance(random, 20)) problem.execution.pins.back() = pick(random, 0, 3);
  }
  if (!has_pins) problem.execution.pins.clear();
  problem.workload.graph = DataflowGraph(std::move(kernels), std::move(tensors));
  problem.execution.style = Style::Dataflow;
  problem.execution.partitions = 8;
  problem.execution.compute_utilization = 0.5;
  problem.equations.phases = chance(random, 50) ? SplitPhases::Halves : SplitPhases::Separate;
  problem.system.accelerator.cores = 1000;
  problem.system.accelerator.sram = Bytes(static_cast<double>(pick(random, 100, 3000)));
  return problem;
}

/// Sorts all other kernels for this kernel alone.
Ticks plain_most(const FusionTables& tables, std::size_t anchor) {
  const KernelCosts& kernel = tables.kernel(anchor);
  if (kernel.lonely) return kernel.compute;
  Bytes room = tables.sram() - kernel.weight;
  for (const Arc& arc : tables.inputs(anchor)) room -= arc.streamed;
  for (const Arc& arc : tables.outputs(anchor)) room -= arc.streamed;
  std::vector<std::size_t> others;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    if (p != anchor && tables.kernel(p).compute > 0 && tables.may_share(anchor, p)) {
      others.push_back(p);
    }
  }
  const auto density = [&](std::size_t p) {
    return static_cast<double>(tables.kernel(p).compute) /
           tables.kernel(p).weight.in_base_units();  // infinite without a weight
  };
  std::stable_sort(others.begin(), others.end(),
                   [&](std::size_t a, std::size_t b) { return density(a) > density(b); });
  Ticks sum = kernel.compute;
  for (const std::size_t p : others) {
    const KernelCosts& other = tables.kernel(p);
    if (other.weight > Bytes{} && other.weight > room) {
      const double part = room / other.weight;
      return sum + static_cast<Ticks>(std::ceil(static_cast<double>(other.compute) * part)) + 1;
    }
    sum += other.compute;
    room -= other.weight;
  }
  return sum;
}

}  // namespace

TEST_CASE("what fits beside a kernel is what a knapsack for it alone says") {
  int scarce = 0, ample = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Problem problem = random_world(random, seed % 3 == 0 ? 300 : 30);
    const MappingProblem search(problem);
    const auto context = search.open(outer_points(problem).front());
    const FusionTables& tables = context->tables;
    REQUIRE(tables.sees_paths() == (seed % 3 != 0));
    MostBeside most(tables, &KernelCosts::compute);
    Ticks all = 0;
    for (std::size_t p = 0; p < tables.size(); ++p) all += tables.kernel(p).compute;
    for (std::size_t p = 0; p < tables.size(); ++p) {
      CAPTURE(p);
      const Ticks found = most.of(p);
      CHECK(found == plain_most(tables, p));
      ++(found < all / 2 ? scarce : ample);
    }
  }
  CHECK(scarce > 500);
  CHECK(ample > 50);
}

}  // namespace dfsearch
