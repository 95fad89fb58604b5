// The lower bounds of worlds small enough to add them up by hand.  Against all
// completions of random worlds: tests/engine/tables/fusion_bounds_test.cpp.

#include "engine/tables/fusion_tables.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/mapping/mapping_problem.hpp"
#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

using test::elementwise;
using test::tensor;
using test::weight_gemm;

/// Weights of 10 B, no tensors; two chips.  Each kernel takes 20 FLOP at 20 FLOP/s:
/// 1 s.  SRAM has room for one weight and a half.
Problem lone_weights(std::size_t count) {
  std::vector<Kernel> kernels;
  for (std::size_t i = 0; i < count; ++i) {
    kernels.push_back(weight_gemm(std::string(1, static_cast<char>('a' + i)), 20, 1, 1));
  }
  Problem problem;
  problem.workload.graph = DataflowGraph(std::move(kernels), {});
  problem.workload.word = Bytes(1.0);
  problem.system.chips = 2;
  problem.system.network = {test::dimension(Topology::Ring, 2, 10.0)};
  problem.system.accelerator = {.cores = 10, .frequency = Hertz(1.0), .sram = Bytes(15.0)};
  problem.system.memory[0].bandwidth = BytesPerSecond(1.0);
  problem.execution.compute_utilization = 1.0;
  return problem;
}

template <class Change>
void change_kernels(Problem& problem, Change change) {
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  change(kernels);
  problem.workload.graph = DataflowGraph(std::move(kernels), problem.workload.graph.tensors());
}

/// At 10 B/s between two chips.
Communication all_reduce_of(double seconds) {
  return {.type = CommunicationType::AllReduce, .bytes = Bytes(10.0 * seconds)};
}

std::shared_ptr<const FusionTables> tables_of(const Problem& problem) {
  const auto context = MappingProblem(problem).open(outer_points(problem).front());
  return {context, &context->tables};
}

Rest whole(const FusionTables& tables) {
  Rest rest;
  for (std::size_t p = 0; p < tables.size(); ++p) rest += tables.kernel(p).share;
  return rest;
}

/// Rounded to a millionth: shares of what fits partly are off by a tick.
double row_of(const Problem& problem, BoundRow row) {
  const auto tables = tables_of(problem);
  const double seconds = tables->clock().seconds(whole(*tables).bound[row]).in_base_units();
  return std::round(seconds * 1e6) / 1e6;
}

std::int64_t least_partitions(const Problem& problem) {
  const auto tables = tables_of(problem);
  return tables->least_partitions(whole(*tables));
}

/// Whether one partition can hold both kernels and all on paths between them, by the definition.
bool may_be_together(const FusionTables& tables, std::size_t from, std::size_t to) {
  const KernelCosts& x = tables.kernel(from);
  const KernelCosts& y = tables.kernel(to);
  if (x.lonely || y.lonely || x.repeats != y.repeats) return false;
  if (x.backward != y.backward && !tables.phases_mix()) return false;
  if (x.pin >= 0 && y.pin >= 0 && x.pin != y.pin) return false;
  if (x.weight + y.weight > tables.sram()) return false;
  if (!tables.descendants(from).contains(to)) return true;
  const auto on_path = [&](std::size_t p) {
    return tables.descendants(from).contains(p) && tables.descendants(p).contains(to);
  };
  Bytes need{};
  for (std::size_t p = from; p <= to; ++p) {
    if (!on_path(p)) continue;
    need += tables.kernel(p).weight;
    for (const Arc& arc : tables.inputs(p)) need += on_path(arc.other) ? arc.fused : arc.streamed;
    for (const Arc& arc : tables.outputs(p)) {
      if (!on_path(arc.other)) need += arc.streamed;
    }
  }
  return need <= tables.sram();
}

}  // namespace

TEST_CASE("network time that no compute can hide comes on top of compute") {
  Problem problem = lone_weights(2);
  change_kernels(problem, [](auto& k) { k[0].communication = all_reduce_of(7.0); });
  // The first alone takes 7 s, the other 1 s.
  CHECK(row_of(problem, kComputeRow) == 8.0);
  CHECK(row_of(problem, kNetworkRow) == 8.0);
  problem.system.accelerator.sram = Bytes(20.0);  // together 7 s
  CHECK(row_of(problem, kComputeRow) == 7.0);

  // Beside the first there is room for one and a half of two others: 2.5 s are
  // hidden at most, in truth 2 s.
  problem = lone_weights(3);
  change_kernels(problem, [](auto& k) { k[0].communication = all_reduce_of(7.0); });
  problem.system.accelerator.sram = Bytes(25.0);
  CHECK(row_of(problem, kComputeRow) == 7.5);
  // A weight outside SRAM fits beside anything.
  change_kernels(problem, [](auto& k) { k[2].skip_weight = true; });
  CHECK(row_of(problem, kComputeRow) == 7.0);

  // Without overlap, or with the network on top of all, it is no bound of this row.
  for (const Overlap overlap : {Overlap::None, Overlap::ComputeMemory}) {
    problem.execution.overlap = overlap;
    CHECK(row_of(problem, kComputeRow) == 3.0);
  }
}

TEST_CASE("only what may be in a partition with a kernel hides its network time") {
  const auto with = [](const auto& change) {
    Problem problem = lone_weights(2);
    problem.system.accelerator.sram = Bytes(20.0);
    change_kernels(problem, [](auto& k) { k[0].communication = all_reduce_of(7.0); });
    change(problem);
    return row_of(problem, kComputeRow);
  };
  CHECK(with([](Problem&) {}) == 7.0);
  CHECK(with([](Problem& p) { p.execution.pins = {0, 1}; }) == 8.0);
  CHECK(with([](Problem& p) { p.execution.pins = {1, 1}; }) == 7.0);
  CHECK(with([](Problem& p) {
          change_kernels(p, [](auto& k) { k[1].phase = Phase::Backward; });
        }) == 8.0);
  CHECK(with([](Problem& p) {
          change_kernels(p, [](auto& k) { k[1].repeat = 2; });  // 2 s
        }) == 9.0);
}

TEST_CASE("buffers of a kernel leave less room beside it") {
  // A third kernel takes 0.05 s and no weight.  Room for nine tenths of the other
  // weight beside the first and its buffer: 7 s and the tenth that is not hidden.
  Problem problem = lone_weights(2);
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  kernels[0].communication = all_reduce_of(7.0);
  kernels.push_back(elementwise("e", 1, 1));
  problem.workload.graph = DataflowGraph(kernels, {tensor(2, 0)});
  problem.system.accelerator.sram = Bytes(10.0 + 2.0 + 9.0);
  CHECK(row_of(problem, kComputeRow) == 7.1);
  problem.workload.graph = DataflowGraph(kernels, {tensor(0, 2)});
  // Its output is gathered, which takes a second more, and the buffers have room for all of it.
  problem.system.accelerator.sram = Bytes(10.0 + 40.0 + 9.0);
  CHECK(row_of(problem, kComputeRow) == 8.1);
}

TEST_CASE("without a given utilization a kernel takes its core-cycles on one core") {
  // Ten rows on one core are ten cycles, a tenth of that on ten cores.
  Problem problem = lone_weights(2);
  problem.execution.compute_utilization = std::nullopt;
  problem.system.accelerator.lanes = 1;
  CHECK(row_of(problem, kComputeRow) == 2.0);
  problem.system.accelerator.lanes = 4;  // three cycles
  CHECK(row_of(problem, kComputeRow) == 0.6);
}

TEST_CASE("compute time that no network can hide comes on top of network") {
  Problem problem = lone_weights(2);
  change_kernels(problem, [](auto& k) {
    k[0].n = 7;  // 7 s
    k[0].communication = all_reduce_of(1.0);
    k[1].communication = all_reduce_of(2.0);
  });
  CHECK(row_of(problem, kNetworkRow) == 9.0);
  problem.system.accelerator.sram = Bytes(20.0);
  CHECK(row_of(problem, kNetworkRow) == 7.0);
  problem.execution.overlap = Overlap::ComputeMemory;
  CHECK(row_of(problem, kNetworkRow) == 3.0);
}

TEST_CASE("memory time that no compute can hide comes on top of compute") {
  Problem problem = lone_weights(2);
  change_kernels(problem, [](auto& k) { k[0].memory = Bytes(7.0); });
  CHECK(row_of(problem, kMemoryRow) == 7.0);
  CHECK(row_of(problem, kComputeMemoryRow) == 8.0);
  problem.execution.overlap = Overlap::ComputeMemory;
  CHECK(row_of(problem, kComputeMemoryRow) == 8.0);
  problem.execution.overlap = Overlap::None;
  CHECK(row_of(problem, kComputeMemoryRow) == 2.0);
}

TEST_CASE("a tensor between kernels that cannot share SRAM is stored and loaded") {
  // 10 B stored by the one and loaded by the other, 10 s each; one partition of
  // both would take two weights and a double buffer of the 20 B that the other gathers, 60 B.
  Problem problem = lone_weights(2);
  problem.workload.graph = DataflowGraph(problem.workload.graph.kernels(), {tensor(0, 1)});
  problem.system.accelerator.sram = Bytes(59.0);
  CHECK(row_of(problem, kMemoryRow) == 20.0);
  CHECK(row_of(problem, kComputeMemoryRow) == 20.0);
  problem.system.accelerator.sram = Bytes(60.0);
  CHECK(row_of(problem, kMemoryRow) == 0.0);
  CHECK(row_of(problem, kComputeMemoryRow) == 2.0);
}

TEST_CASE("a kernel between two others takes part in what SRAM must hold") {
  // a -> b -> c and a -> c: with a and c in a partition b is there as well.
  Problem problem = lone_weights(3);
  problem.workload.graph =
      DataflowGraph(problem.workload.graph.kernels(), {tensor(0, 1), tensor(1, 2), tensor(0, 2)});
  // Three weights, two double buffers of the 20 B that are gathered, one of three tiles: 170 B.
  // Any two: 20 B of weights and at most 140 B of buffers.
  problem.system.accelerator.sram = Bytes(169.0);
  CHECK(row_of(problem, kMemoryRow) == 20.0);  // the tensor a -> c
  problem.system.accelerator.sram = Bytes(170.0);
  CHECK(row_of(problem, kMemoryRow) == 0.0);
}

TEST_CASE("which pairs may share a partition is what each pair by itself tells") {
  int together = 0, too_far = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const auto tables = tables_of(test::random_problem(seed, {.kernels = 14}));
    REQUIRE(tables->sees_paths());
    for (std::size_t b = 0; b < tables->size(); ++b) {
      for (std::size_t a = 0; a < b; ++a) {
        CAPTURE(a);
        CAPTURE(b);
        const bool may = may_be_together(*tables, a, b);
        REQUIRE(tables->may_share(a, b) == may);
        REQUIRE(tables->may_share(b, a) == may);
        if (tables->descendants(a).contains(b)) ++(may ? together : too_far);
      }
    }
  }
  CHECK(together > 1000);
  CHECK(too_far > 1000);
}

TEST_CASE("the least number of partitions counts SRAM, cores, lonely kernels and phases") {
  Problem problem = lone_weights(4);
  problem.system.accelerator.sram = Bytes(40.0);
  CHECK(least_partitions(problem) == 1);
  problem.system.accelerator.sram = Bytes(39.0);
  CHECK(least_partitions(problem) == 2);
  problem.system.accelerator.sram = Bytes(19.0);
  CHECK(least_partitions(problem) == 3);
  problem.system.accelerator.sram = Bytes(9.0);  // each alone, its weight cut
  CHECK(least_partitions(problem) == 4);
  problem.system.accelerator.sram = Bytes(40.0);
  problem.system.accelerator.cores = 3;
  CHECK(least_partitions(problem) == 2);
  problem.system.accelerator.cores = 10;

  change_kernels(problem, [](auto& k) { k[3].phase = Phase::Backward; });
  CHECK(least_partitions(problem) == 2);
  problem.equations.phases = SplitPhases::Halves;
  problem.execution.partitions = 2;
  CHECK(least_partitions(problem) == 2);
  problem.execution.partitions = 3;  // the middle one may hold both
  CHECK(least_partitions(problem) == 1);
}

}  // namespace dfsearch
