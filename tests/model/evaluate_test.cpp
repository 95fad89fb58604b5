// evaluate, number by number.  Units are a few bytes and seconds, so that all of it
// can be calculated by hand beside the check.

#include "model/evaluate.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "support/model_worlds.hpp"

namespace dfsearch {
namespace {

using test::cost_of;
using test::elementwise;
using test::example;
using test::example_mapping;
using test::idle_problem;
using test::infeasible_of;
using test::plain_mapping;
using test::tensor;

/// Times are rounded up to ticks, to less than 1e-12 of the layer.
void check_time(Seconds time, double expected) {
  CHECK(time.in_base_units() == doctest::Approx(expected).epsilon(1e-12));
}

TEST_CASE("a partition takes the largest of compute, memory and network when they overlap") {
  const Cost cost = cost_of(example(), example_mapping());
  REQUIRE(cost.partitions.size() == 2);
  const PartitionCost& first = cost.partitions[0];
  CHECK(first.kernels == std::vector{KernelId(0), KernelId(1)});
  check_time(first.compute, 1.35);
  check_time(first.memory, 1.6);
  check_time(first.network, 0.8);
  check_time(first.time, 1.6);
  CHECK(first.bound_by == Bottleneck::Memory);
  CHECK(first.sram == Bytes(160.0));  // 2 x 24 inside, 2 x 32 out, 48 of weight
  CHECK(first.pieces == 1.0);

  const PartitionCost& second = cost.partitions[1];
  CHECK(second.kernels == std::vector{KernelId(2)});
  check_time(second.compute, 0.2);
  check_time(second.memory, 1.6);
  CHECK(second.network == Seconds{});
  check_time(second.time, 1.6);
  CHECK(second.sram == Bytes(64.0));

  check_time(cost.layer_time, 3.2);
  CHECK(cost.layer_time == cost.clock.seconds(cost.layer_ticks));
  CHECK(cost.layers_per_stage == 2);
  CHECK(cost.micro_batches == 3);
  check_time(Seconds(cost.bubble_factor), 7.0 / 6.0);
  check_time(cost.pipeline_transfer, 12.0);
  check_time(cost.step_time, 56.8);         // 14 x 3.2 + 12
  CHECK(cost.weights == Bytes(96.0));       // two layers
  CHECK(cost.activations == Bytes(128.0));  // 2 samples x 2 tiles x 32
  CHECK(cost.cores.empty());
}

TEST_CASE("without overlap a partition takes the sum") {
  Problem problem = example();
  problem.execution.overlap = Overlap::None;
  const Cost cost = cost_of(problem, example_mapping());
  check_time(cost.partitions[0].time, 3.75);
  check_time(cost.partitions[1].time, 1.8);
  check_time(cost.step_time, 14.0 * 5.55 + 12.0);
}

TEST_CASE("with compute and memory overlapped the network comes on top") {
  Problem problem = example();
  problem.execution.overlap = Overlap::ComputeMemory;
  const Cost cost = cost_of(problem, example_mapping());
  check_time(cost.partitions[0].time, 2.4);
  check_time(cost.partitions[1].time, 1.6);
  check_time(cost.step_time, 14.0 * 4.0 + 12.0);
}

TEST_CASE("fused into one partition nothing goes to memory") {
  const Cost cost = cost_of(example(), example_mapping({1, 1, 1}));
  REQUIRE(cost.partitions.size() == 1);  // partition 0 is empty and free
  check_time(cost.partitions[0].compute, 1.55);
  CHECK(cost.partitions[0].memory == Seconds{});
  CHECK(cost.partitions[0].bound_by == Bottleneck::Compute);
  CHECK(cost.partitions[0].sram == Bytes(160.0));  // 2 x 24 + 2 x 32 + 48
  check_time(cost.step_time, 14.0 * 1.55 + 12.0);
  CHECK(cost.activations == Bytes{});
}

TEST_CASE("kernel by kernel every tensor is stored and loaded") {
  Problem problem = example();
  problem.execution.style = Style::KernelByKernel;
  problem.execution.partitions = 1;  // means nothing in this style
  const Cost cost = cost_of(problem, example_mapping({0, 1, 2}));
  check_time(cost.partitions[0].time, 1.2);
  check_time(cost.partitions[1].time, 2.8);
  check_time(cost.partitions[2].time, 1.6);
  check_time(cost.step_time, 14.0 * 5.6 + 12.0);
  CHECK(infeasible_of(problem, example_mapping({0, 0, 1})).resource == Resource::Partitions);
}

TEST_CASE("a slow network binds and is named as what binds") {
  Problem problem = example();
  problem.system.network[0].bandwidth = BytesPerSecond(8.0);
  const Cost cost = cost_of(problem, example_mapping());
  check_time(cost.partitions[0].network, 8.0);
  check_time(cost.partitions[0].time, 8.0);
  CHECK(cost.partitions[0].bound_by == Bottleneck::Network);

  // 64 / 44 = 1.45 s: more than compute, less than memory.
  problem.system.network[0].bandwidth = BytesPerSecond(44.0);
  const Cost between = cost_of(problem, example_mapping());
  check_time(between.partitions[0].network, 64.0 / 44.0);
  CHECK(between.partitions[0].bound_by == Bottleneck::Memory);
}

TEST_CASE("a tile that does not divide the sequence is charged in full") {
  Mapping mapping = example_mapping();
  mapping.tile = 3;  // two tiles of ceil(4 / 2) = 2 columns
  check_time(cost_of(example(), mapping).step_time, 56.8);
  Problem problem = example();
  problem.workload.sequence = 5;  // kernels keep their N of 4
  mapping.tile = 2;               // three tiles of ceil(4 / 3) = 2: half as much again
  check_time(cost_of(problem, mapping).step_time, 14.0 * 4.8 + 12.0);
}

// 24 + 2 x 8 x 6 x 4 + 32 = 440 FLOP, three layers, 12 samples.
TEST_CASE("utilization, price and power are those of the whole machine") {
  Problem problem = example();
  problem.system.price.accelerator = Dollars(10.0);
  problem.system.power.accelerator = Watts(3.0);
  problem.system.price.memory = DollarsPerBandwidth(0.5);
  const Cost cost = cost_of(problem, example_mapping());
  CHECK(cost.flops == Flops(15840.0));
  CHECK(cost.utilization == doctest::Approx(15840.0 / (56.8 * 8 * 320)).epsilon(1e-12));
  CHECK(cost.price == Dollars(240.0));  // 8 x (10 + 40 x 0.5)
  CHECK(cost.power == Watts(24.0));
  CHECK(cost.cost_efficiency.in_base_units() ==
        doctest::Approx(15840.0 / 56.8 / 240.0).epsilon(1e-12));
  CHECK(cost.power_efficiency.in_base_units() ==
        doctest::Approx(15840.0 / 56.8 / 24.0).epsilon(1e-12));
  CHECK(cost_of(example(), example_mapping()).cost_efficiency == FlopsPerSecondPerDollar{});
}

// Without a utilization, cycles: A 2 columns x ceil(6/2l), B 3 x ceil(8/2l), C 2 x
// ceil(8/2l).  A and B share four cores: one for A is 6 cycles, two for B are 6.
// C alone: four lanes, 2 cycles.
TEST_CASE("without a utilization the cores are divided as well as they can be") {
  Problem problem = example();
  problem.execution.compute_utilization.reset();
  const Cost cost = cost_of(problem, example_mapping());
  check_time(cost.partitions[0].compute, 1.2);  // 6 cycles x 2 tiles / 10 Hz
  check_time(cost.partitions[1].compute, 0.4);
  REQUIRE(cost.cores.size() == 3);
  CHECK(cost.cores[0] == CoreGrid{1, 1});
  CHECK(cost.cores[1] == CoreGrid{2, 1});
  CHECK(cost.cores[2] == CoreGrid{4, 1});
}

TEST_CASE("cores that a mapping gives are used, best or not") {
  Problem problem = example();
  problem.execution.compute_utilization.reset();
  Mapping mapping = example_mapping();
  mapping.cores = {{3, 1}, {1, 1}, {2, 1}};
  const Cost cost = cost_of(problem, mapping);
  check_time(cost.partitions[0].compute, 2.4);  // B: 4 x 3 = 12 cycles
  check_time(cost.partitions[1].compute, 0.8);  // C: 2 x 2 = 4 cycles
  CHECK(cost.cores == mapping.cores);
  mapping.cores[0] = {4, 1};
  const Infeasible wrong = infeasible_of(problem, mapping);
  CHECK(wrong.resource == Resource::Cores);
  CHECK(wrong.needed == 5.0);
  CHECK(wrong.available == 4.0);
}

// 2^21 rows on 2^21 cores are one cycle, on one core 2^21: far from the ticks'
// reference, and still the right time.
TEST_CASE("one core where there could be millions takes as long as it takes") {
  Problem problem = idle_problem(1);
  problem.workload.graph = DataflowGraph({elementwise("a", std::int64_t{1} << 21, 1)}, {});
  problem.system.accelerator.cores = std::int64_t{1} << 21;
  problem.execution.compute_utilization.reset();
  Mapping mapping = plain_mapping(problem);
  check_time(cost_of(problem, mapping).step_time, 1.0);
  mapping.cores = {{1, 1}};
  check_time(cost_of(problem, mapping).step_time, 0x1p21);
  // No whole number of any tick, and as precise as the rest.
  problem.system.accelerator.frequency = Hertz(3.0);
  check_time(cost_of(problem, mapping).step_time, 0x1p21 / 3.0);
}
TEST_CASE("what layers hand each other waits in memory, as it comes in and as it goes out") {
  Problem problem = example();
  const Bytes without = cost_of(problem, example_mapping()).activations;
  const DataflowGraph layer = problem.workload.graph;
  problem.workload.graph = DataflowGraph(layer.kernels(), layer.tensors(), {tensor(2, 0)});
  // Two samples of two tiles of 8 x 2 x 2 B.
  const Bytes waiting(2.0 * 2 * 2 * 32);
  CHECK(cost_of(problem, example_mapping()).activations == without + waiting);
  problem.equations.layer_seams = LayerSeams::Free;
  CHECK(cost_of(problem, example_mapping()).activations == without);
}

// 48 B at 40 B/s.
TEST_CASE("weights loaded for every sample come on top of what overlaps") {
  Problem problem = example();
  problem.equations.weight_traffic = WeightTraffic::PerSample;
  const Cost cost = cost_of(problem, example_mapping());
  check_time(cost.partitions[0].time, 1.6 + 1.2);
  check_time(cost.partitions[1].time, 1.6);
  check_time(cost.step_time, 14.0 * 4.4 + 12.0);
}

}  // namespace
}  // namespace dfsearch
