// evaluate, number by number.  Units are a few bytes and seconds, so that all of it
// can be calculated by hand beside the check.

#include "model/evaluate.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "support/model_worlds.hpp"

namespace dfsearch {
namespace {

using test::cost_of;
using test::dimension;
using test::elementwise;
using test::idle_problem;
using test::infeasible_of;
using test::plain_mapping;
using test::tensor;
using test::weight_gemm;

/// Times are rounded up to ticks, to less than 1e-12 of the layer.
void check_time(Seconds time, double expected) {
  CHECK(time.in_base_units() == doctest::Approx(expected).epsilon(1e-12));
}

/// A (6 x 4) -> B (8 x 6 times 6 x 4) -> C (8 x 4), words of 2 B, two tiles of 2.
/// Tensor degree 2, so sharded on K B holds 8 x 3.  Per tile
///
///   A  6 x 2       12 FLOP x 2 tiles =  24    A -> B  6 x 2 x 2 B = 24 B
///   B  8 x 3 x 2   96 FLOP x 2 tiles = 192    B -> C  8 x 2 x 2 B = 32 B
///   C  8 x 2       16 FLOP x 2 tiles =  32    weight  8 x 3 x 2 B = 48 B
///
/// Half the peak of 2 x 2 x 2 x 4 x 10 = 320 FLOP/s: 0.15 s, 1.2 s and 0.2 s.  Memory
/// at 40 B/s: A -> B once is 2 x 24 / 40 = 1.2 s, B -> C once 1.6 s.  B all-reduces
/// 32 B per tile at 80 B/s on a ring of two: 2 x 2 x 1/2 x 32 / 80 = 0.8 s.
///
/// Three layers on two stages: two each.  12 samples on two replicas: 6, or three
/// micro-batches of 2; bubble 1 + 1 / (3 x 2); factor 7/6 x 2 x 6 = 14.  Handing on
/// 20 B for each of three layers at 5 B/s: 12 s.
Problem example() {
  Problem problem;
  Workload& workload = problem.workload;
  workload.graph =
      DataflowGraph({elementwise("A", 6, 4), weight_gemm("B", 8, 6, 4), elementwise("C", 8, 4)},
                    {tensor(0, 1), tensor(1, 2)});
  workload.word = Bytes(2.0);
  workload.layers = 3;
  workload.global_batch = 12;
  workload.sequence = 4;
  workload.boundary = Bytes(20.0);
  System& system = problem.system;
  system.chips = 8;
  system.accelerator = {
      .cores = 4, .lanes = 2, .stages = 2, .frequency = Hertz(10.0), .sram = Bytes(1000.0)};
  system.memory = {.bandwidth = BytesPerSecond(40.0), .capacity = Bytes(1000.0)};
  system.network = {dimension(Topology::Ring, 2, 80.0),
                    dimension(Topology::Ring, 2, 5.0, Strategy::Pipeline),
                    dimension(Topology::Switch, 2, 1.0, Strategy::Data)};
  problem.execution.compute_utilization = 0.5;
  return problem;
}

Mapping example_mapping(std::vector<std::int64_t> partition = {0, 0, 1}) {
  return {.network = test::network_of(example().system),
          .micro_batch = 2,
          .tile = 2,
          .sharding = {Loop::None, Loop::K, Loop::None},
          .partition = std::move(partition),
          .cores = {}};
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
  CHECK(first.bound_by == Bound::Memory);
  CHECK(first.sram == Bytes(160.0));  // 2 x 24 inside, 2 x 32 out, 48 of weight
  CHECK_FALSE(first.weight_tiled);

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
  CHECK(cost.partitions[0].bound_by == Bound::Compute);
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
  CHECK(cost.partitions[0].bound_by == Bound::Network);
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
}

TEST_CASE("a partition fits the SRAM to the byte") {
  Problem problem = example();
  problem.system.accelerator.sram = Bytes(160.0);
  CHECK(cost_of(problem, example_mapping()).partitions[0].sram == Bytes(160.0));
  problem.system.accelerator.sram = Bytes(159.0);
  const Infeasible wrong = infeasible_of(problem, example_mapping());
  CHECK(wrong.resource == Resource::Sram);
  CHECK(wrong.needed == 160.0);
  CHECK(wrong.available == 159.0);
  CHECK(wrong.where == "partition 0");
}

// Levels: A 0, B 1, C 2, so A -> C waits for three tiles.
TEST_CASE("a tensor that skips a kernel is buffered for longer") {
  Problem problem = example();
  problem.workload.graph =
      DataflowGraph(problem.workload.graph.kernels(), {tensor(0, 1), tensor(1, 2), tensor(0, 2)});
  CHECK(cost_of(problem, example_mapping({0, 0, 0})).partitions[0].sram ==
        Bytes(2.0 * 24 + 2.0 * 32 + 3.0 * 24 + 48));
  // Across a border it is double-buffered like any other, on both sides.
  const Cost cost = cost_of(problem, example_mapping());
  CHECK(cost.partitions[0].sram == Bytes(160.0 + 48.0));
  CHECK(cost.partitions[1].sram == Bytes(64.0 + 48.0));
}

// B alone: 48 B of input, 64 B of output, 48 B of weight.
TEST_CASE("a weight alone may be cut into pieces while its inputs leave room") {
  Problem problem = example();
  const Mapping alone = example_mapping({0, 1, 2});
  problem.system.accelerator.sram = Bytes(160.0);
  CHECK_FALSE(cost_of(problem, alone).partitions[1].weight_tiled);
  const Seconds whole = cost_of(problem, alone).step_time;
  for (const double sram : {159.0, 64.0}) {  // A and C need 48 and 64
    problem.system.accelerator.sram = Bytes(sram);
    const Cost cost = cost_of(problem, alone);
    CHECK(cost.partitions[1].weight_tiled);
    CHECK(cost.partitions[1].sram == Bytes(160.0));
    CHECK_FALSE(cost.partitions[0].weight_tiled);
    CHECK(cost.step_time == whole);
  }
}

TEST_CASE("inputs that fill the SRAM leave no room for a piece of weight") {
  Problem problem = example();
  // A fused neighbour is replaced by nothing: B is fed and left by tiny C.
  problem.workload.graph =
      DataflowGraph({elementwise("A", 6, 4), weight_gemm("B", 8, 6, 4)}, {tensor(0, 1)});
  Mapping mapping = example_mapping({0, 1});
  mapping.sharding = {Loop::None, Loop::K};
  problem.system.accelerator.sram = Bytes(49.0);
  CHECK(cost_of(problem, mapping).partitions[1].weight_tiled);
  problem.system.accelerator.sram = Bytes(48.0);
  const Infeasible wrong = infeasible_of(problem, mapping);
  CHECK(wrong.resource == Resource::Sram);
  CHECK(wrong.where == "B");
  CHECK(wrong.needed == 96.0);  // 48 of input, 48 of weight
}

TEST_CASE("a weight with company or a kernel without weight cannot be cut") {
  Problem problem = example();
  problem.system.accelerator.sram = Bytes(159.0);
  CHECK(infeasible_of(problem, example_mapping({0, 0, 1})).resource == Resource::Sram);
  CHECK(infeasible_of(problem, example_mapping({0, 1, 1})).resource == Resource::Sram);
  problem.system.accelerator.sram = Bytes(63.0);
  CHECK(infeasible_of(problem, example_mapping({0, 1, 2})).where == "C");
}

TEST_CASE("a weight that takes no SRAM is not counted there, and there is nothing to cut") {
  Problem problem = example();
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  kernels[1].skip_weight = true;
  problem.workload.graph = DataflowGraph(kernels, problem.workload.graph.tensors());
  problem.system.accelerator.sram = Bytes(112.0);
  const Cost cost = cost_of(problem, example_mapping({0, 1, 2}));
  CHECK(cost.partitions[1].sram == Bytes(112.0));
  CHECK_FALSE(cost.partitions[1].weight_tiled);
  CHECK(cost.weights == Bytes(96.0));  // in memory it is
  problem.system.accelerator.sram = Bytes(111.0);
  CHECK(infeasible_of(problem, example_mapping({0, 1, 2})).resource == Resource::Sram);
}

TEST_CASE("weights and activations fit the memory to the byte") {
  Problem problem = example();
  problem.system.memory.capacity = Bytes(224.0);
  CHECK(cost_of(problem, example_mapping()).activations == Bytes(128.0));
  problem.system.memory.capacity = Bytes(223.0);
  Infeasible wrong = infeasible_of(problem, example_mapping());
  CHECK(wrong.resource == Resource::Memory);
  CHECK(wrong.needed == 224.0);
  CHECK(wrong.available == 223.0);
  CHECK(wrong.where == "weights and activations");
  problem.system.memory.capacity = Bytes(95.0);
  wrong = infeasible_of(problem, example_mapping());
  CHECK(wrong.where == "weights");
}

// a -> b, a -> d, b -> c and c -> d of 1, 1, 2 and 3 rows (2-byte words, one column),
// each kernel in a partition of its own.  Alive: in 0 a-b, a-d = 4 B; in 1 those and b-c =
// 8 B; in 2 a-d, b-c, c-d = 12 B; in 3 a-d, c-d = 8 B.
TEST_CASE("a tensor takes memory from the partition that makes it to the one that needs it") {
  Problem problem = idle_problem(1);
  problem.workload.graph = DataflowGraph({elementwise("a", 1, 1), elementwise("b", 2, 1),
                                          elementwise("c", 3, 1), elementwise("d", 4, 1)},
                                         {tensor(0, 1), tensor(0, 3), tensor(1, 2), tensor(2, 3)});
  Mapping mapping = plain_mapping(problem);
  mapping.partition = {0, 1, 2, 3};
  CHECK(cost_of(problem, mapping).activations == Bytes(12.0));
  mapping.partition = {0, 0, 1, 3};  // a-d, b-c = 6; a-d, b-c, c-d = 12; a-d, c-d = 8
  CHECK(cost_of(problem, mapping).activations == Bytes(12.0));
  mapping.partition = {0, 0, 0, 3};  // a-d and c-d
  CHECK(cost_of(problem, mapping).activations == Bytes(8.0));
  mapping.partition = {0, 1, 1, 1};  // a-b and a-d
  CHECK(cost_of(problem, mapping).activations == Bytes(4.0));
  // A micro-batch of 3 samples waits together.
  problem.workload.global_batch = 3;
  mapping.micro_batch = 3;
  CHECK(cost_of(problem, mapping).activations == Bytes(12.0));
}

TEST_CASE("explicit memory traffic is paid once, whatever the sharding and the tiles") {
  Problem problem = example();
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  kernels[1].memory = Bytes(100.0);
  problem.workload.graph = DataflowGraph(kernels, problem.workload.graph.tensors());
  check_time(cost_of(problem, example_mapping()).partitions[0].memory, 1.6 + 2.5);
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

TEST_CASE("gradients are all-reduced over the replicas, a share for each micro-batch") {
  Problem problem = example();
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  kernels[2].communication =
      Communication{.type = CommunicationType::GradientAllReduce, .bytes = {}};
  problem.workload.graph = DataflowGraph(kernels, problem.workload.graph.tensors());
  // 8 x 4 x 2 = 64 B through a switch of two at 1 B/s, three micro-batches.
  check_time(cost_of(problem, example_mapping()).partitions[1].network, 64.0 / 3.0);
}

TEST_CASE("pins, of partitions and of loops, are kept") {
  Problem problem = example();
  problem.execution.pins = {std::nullopt, 0, 1};
  problem.sharding_pins = {std::nullopt, Loop::K, std::nullopt};
  check_time(cost_of(problem, example_mapping()).step_time, 56.8);

  const Infeasible moved = infeasible_of(problem, example_mapping({0, 1, 1}));
  CHECK(moved.resource == Resource::Pin);
  CHECK(moved.where == "B");
  CHECK(moved.needed == 1.0);
  CHECK(moved.available == 0.0);

  Mapping resharded = example_mapping();
  resharded.sharding[1] = Loop::M;
  const Infeasible other = infeasible_of(problem, resharded);
  CHECK(other.resource == Resource::Pin);
  CHECK(other.where == "B");
}

TEST_CASE("loops that may not be sharded are refused") {
  Mapping mapping = example_mapping();
  mapping.sharding[0] = Loop::N;  // tiled
  CHECK(infeasible_of(example(), mapping).resource == Resource::Sharding);
  CHECK(infeasible_of(example(), mapping).where == "A");
  mapping = example_mapping();
  mapping.sharding[1] = Loop::None;  // has a weight
  CHECK(infeasible_of(example(), mapping).where == "B");
}

TEST_CASE("partitions beyond the limit or in the wrong order are refused") {
  Problem problem = example();
  problem.execution.partitions = 2;
  CHECK(cost_of(problem, example_mapping({0, 0, 1})).partitions.size() == 2);
  for (const std::int64_t index : {std::int64_t{2}, std::int64_t{1} << 40, std::int64_t{-1}}) {
    CAPTURE(index);
    CHECK(infeasible_of(problem, example_mapping({0, 0, index})).resource == Resource::Partitions);
  }
  const Infeasible wrong = infeasible_of(problem, example_mapping({1, 1, 0}));
  CHECK(wrong.resource == Resource::Precedence);
  CHECK(wrong.where == "B -> C");
}

TEST_CASE("a partition has at most as many kernels as the chip has cores") {
  Problem problem = example();
  problem.system.accelerator.cores = 1;
  const Infeasible wrong = infeasible_of(problem, example_mapping());
  CHECK(wrong.resource == Resource::Cores);
  CHECK(wrong.needed == 2.0);
  CHECK(wrong.available == 1.0);
  CHECK(cost_of(problem, example_mapping({0, 1, 2})).partitions.size() == 3);
}

TEST_CASE("kernels with a repeat and kernels without do not mix") {
  Problem problem = example();
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  kernels[1].repeat = 3;
  kernels[2].repeat = 2;
  problem.workload.graph = DataflowGraph(kernels, problem.workload.graph.tensors());
  CHECK(infeasible_of(problem, example_mapping({0, 0, 1})).resource == Resource::Repeat);
  CHECK(infeasible_of(problem, example_mapping({0, 0, 0})).resource == Resource::Repeat);
  const Cost cost = cost_of(problem, example_mapping({0, 1, 1}));
  check_time(cost.partitions[1].compute, 3 * 1.2 + 2 * 0.2);
}

TEST_CASE("replicas and micro-batches divide the batch exactly") {
  Mapping mapping = example_mapping();
  for (const std::int64_t size : {1, 2, 3, 6}) {
    mapping.micro_batch = size;
    CHECK(cost_of(example(), mapping).micro_batches == 6 / size);
  }
  for (const std::int64_t size : {-2, 0, 4, 5, 12, 13}) {
    CAPTURE(size);
    mapping.micro_batch = size;
    CHECK(infeasible_of(example(), mapping).resource == Resource::Batch);
  }
  Problem problem = example();
  problem.workload.micro_batch = 3;
  CHECK(infeasible_of(problem, example_mapping()).resource == Resource::Batch);
}

TEST_CASE("tiles are between one element and the sequence, or the one that is given") {
  Mapping mapping = example_mapping();
  for (const std::int64_t tile : {-1, 0, 5}) {
    CAPTURE(tile);
    mapping.tile = tile;
    CHECK(infeasible_of(example(), mapping).resource == Resource::Tile);
  }
  Problem problem = example();
  problem.workload.tile = 4;
  CHECK(infeasible_of(problem, example_mapping()).resource == Resource::Tile);
  mapping.tile = 4;
  CHECK(cost_of(problem, mapping).partitions.size() == 2);
}

/// Kernels f and g forward, b and c backward, nothing between them.
Problem phases(SplitPhases split, std::int64_t partitions) {
  Problem problem = idle_problem(4);
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  kernels[2].phase = kernels[3].phase = Phase::Backward;
  problem.workload.graph = DataflowGraph(kernels, {});
  problem.equations.phases = split;
  problem.execution.partitions = partitions;
  return problem;
}

bool phases_fit(const Problem& problem, std::vector<std::int64_t> partition) {
  Mapping mapping = plain_mapping(problem);
  mapping.partition = std::move(partition);
  const auto result = evaluate(problem, mapping);
  if (const auto* wrong = std::get_if<Infeasible>(&result)) {
    CHECK(wrong->resource == Resource::Phase);
    return false;
  }
  return true;
}

TEST_CASE("separate phases: any split of the partitions, none shared") {
  const Problem problem = phases(SplitPhases::Separate, 4);
  CHECK(phases_fit(problem, {0, 0, 1, 1}));
  CHECK(phases_fit(problem, {0, 2, 3, 3}));
  CHECK(phases_fit(problem, {0, 0, 3, 1}));
  CHECK_FALSE(phases_fit(problem, {0, 1, 1, 2}));
  CHECK_FALSE(phases_fit(problem, {0, 2, 1, 3}));
  CHECK_FALSE(phases_fit(problem, {3, 3, 0, 0}));
}

TEST_CASE("halves of an even number of partitions are apart") {
  const Problem problem = phases(SplitPhases::Halves, 4);
  CHECK(phases_fit(problem, {0, 1, 2, 3}));
  CHECK(phases_fit(problem, {0, 0, 3, 3}));
  CHECK_FALSE(phases_fit(problem, {0, 0, 1, 2}));
  CHECK_FALSE(phases_fit(problem, {0, 2, 3, 3}));
}

TEST_CASE("halves of an odd number of partitions share the middle one") {
  const Problem problem = phases(SplitPhases::Halves, 5);
  CHECK(phases_fit(problem, {0, 2, 2, 4}));
  CHECK(phases_fit(problem, {0, 1, 3, 4}));
  CHECK_FALSE(phases_fit(problem, {0, 3, 3, 4}));
  CHECK_FALSE(phases_fit(problem, {0, 1, 1, 4}));
  CHECK(phases_fit(phases(SplitPhases::Halves, 1), {0, 0, 0, 0}));
  CHECK_FALSE(phases_fit(phases(SplitPhases::Separate, 1), {0, 0, 0, 0}));
}

TEST_CASE("inference has no phases to keep apart") {
  Problem problem = idle_problem(2);
  problem.equations.phases = SplitPhases::Halves;
  problem.execution.partitions = 4;
  CHECK(phases_fit(problem, {0, 3}));
}

TEST_CASE("malformed mappings are errors of the input") {
  const Problem problem = example();
  const auto refuse = [&](auto&& spoil, const char* what) {
    Mapping mapping = example_mapping();
    spoil(mapping);
    CHECK_THROWS_WITH_AS(evaluate(problem, mapping), doctest::Contains(what), InputError);
  };
  refuse([](Mapping& m) { m.sharding.pop_back(); }, "sharding");
  refuse([](Mapping& m) { m.partition.push_back(0); }, "partition");
  refuse([](Mapping& m) { m.partition.clear(); }, "partition");
  refuse([](Mapping& m) { m.cores.resize(2); }, "cores");
  refuse([](Mapping& m) { m.cores = {{1, 1}, {0, 1}, {1, 1}}; }, "cores");
  refuse([](Mapping& m) { m.cores = {{1, 1}, {1, -1}, {1, 1}}; }, "cores");
  refuse([](Mapping& m) { m.network.pop_back(); }, "network");
  refuse([](Mapping& m) { m.network[0].degree = 4; }, "network");
  refuse([](Mapping& m) { m.network[0].strategy = Strategy::Data; }, "network");
}

TEST_CASE("huge grids of cores are too many, not a negative number") {
  Problem problem = example();
  problem.execution.compute_utilization.reset();
  Mapping mapping = example_mapping();
  const CoreGrid huge{std::int64_t{1} << 30, std::int64_t{1} << 30};
  mapping.cores = {huge, huge, huge};
  CHECK(infeasible_of(problem, mapping).resource == Resource::Cores);
}

TEST_CASE("resources and bounds have the names that results print") {
  CHECK(to_string(Resource::Sram) == std::string("sram"));
  CHECK(to_string(Resource::Memory) == std::string("memory"));
  CHECK(to_string(Resource::Tile) == std::string("tile"));
  CHECK(to_string(Bound::Compute) == std::string("compute"));
  CHECK(to_string(Bound::Network) == std::string("network"));
}

}  // namespace
}  // namespace dfsearch
