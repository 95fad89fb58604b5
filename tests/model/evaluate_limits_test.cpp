// Mappings that do not fit or are not allowed, to the byte and by name.  The numbers of the example
// are in support/model_worlds.hpp.

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "model/evaluate.hpp"
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
using test::weight_gemm;

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
  problem.equations.weight_traffic = WeightTraffic::Resident;
  const Mapping alone = example_mapping({0, 1, 2});
  problem.system.accelerator.sram = Bytes(160.0);
  CHECK(cost_of(problem, alone).partitions[1].pieces == 1.0);
  const Seconds whole = cost_of(problem, alone).step_time;
  for (const double sram : {159.0, 64.0}) {  // A and C need 48 and 64
    problem.system.accelerator.sram = Bytes(sram);
    const Cost cost = cost_of(problem, alone);
    CHECK(cost.partitions[1].pieces > 1.0);
    CHECK(cost.partitions[1].sram == Bytes(160.0));
    CHECK(cost.partitions[0].pieces == 1.0);
    CHECK(cost.step_time == whole);
  }
}

// B has two tiles: each takes 24 B and makes 32 B.  64 B of output and 48 B of weight share the 16
// B that two inputs leave of the SRAM.
TEST_CASE("weight_pieces: what each piece of a weight loads again") {
  Problem problem = example();
  problem.equations.weight_traffic = WeightTraffic::Resident;
  problem.system.accelerator.sram = Bytes(64.0);
  const Mapping alone = example_mapping({0, 1, 2});
  const auto memory_of_b = [&](WeightPieces pieces) {
    problem.equations.weight_pieces = pieces;
    return cost_of(problem, alone).partitions[1].memory.in_base_units();
  };
  CHECK(memory_of_b(WeightPieces::Free) == doctest::Approx(2 * 56.0 / 40));
  CHECK(memory_of_b(WeightPieces::Published) == doctest::Approx(7 * 2 * 56.0 / 40));
  // Two samples of a micro-batch share the weight.
  CHECK(memory_of_b(WeightPieces::Reread) ==
        doctest::Approx((2 * (7 * 24.0 + 32.0) + 48.0 / 2) / 40));
  problem.system.accelerator.sram = Bytes(160.0);
  CHECK(memory_of_b(WeightPieces::Published) == doctest::Approx(2 * 56.0 / 40));
  problem.system.accelerator.sram = Bytes(64.0);
  problem.execution.style = Style::KernelByKernel;  // streams
  CHECK(memory_of_b(WeightPieces::Published) == doctest::Approx(2 * 56.0 / 40));
}

TEST_CASE("inputs that fill the SRAM leave no room for a piece of weight") {
  Problem problem = example();
  problem.workload.graph =
      DataflowGraph({elementwise("A", 6, 4), weight_gemm("B", 8, 6, 4)}, {tensor(0, 1)});
  Mapping mapping = example_mapping({0, 1});
  mapping.sharding = {Loop::None, Loop::K};
  problem.system.accelerator.sram = Bytes(49.0);
  CHECK(cost_of(problem, mapping).partitions[1].pieces > 1.0);
  problem.system.accelerator.sram = Bytes(48.0);
  const PartitionCost streamed = cost_of(problem, mapping).partitions[1];
  CHECK(streamed.pieces == 1.0);
  CHECK(streamed.sram == Bytes(48.0));
  problem.equations.lone_kernels = LoneKernels::Whole;
  const Infeasible wrong = infeasible_of(problem, mapping);
  CHECK(wrong.resource == Resource::Sram);
  CHECK(wrong.where == "B");
  CHECK(wrong.needed == 96.0);  // 48 of input, 48 of weight
}

TEST_CASE("a weight with company or a kernel without weight cannot be cut") {
  Problem problem = example();
  problem.equations.lone_kernels = LoneKernels::Whole;
  problem.system.accelerator.sram = Bytes(159.0);
  CHECK(infeasible_of(problem, example_mapping({0, 0, 1})).resource == Resource::Sram);
  CHECK(infeasible_of(problem, example_mapping({0, 1, 1})).resource == Resource::Sram);
  problem.system.accelerator.sram = Bytes(63.0);
  CHECK(infeasible_of(problem, example_mapping({0, 1, 2})).where == "C");
}

TEST_CASE(
    "a weight that takes no SRAM is not counted there but can be cut, and its output with it") {
  Problem problem = example();
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  kernels[1].skip_weight = true;
  problem.workload.graph = DataflowGraph(kernels, problem.workload.graph.tensors());
  problem.system.accelerator.sram = Bytes(112.0);
  const Cost cost = cost_of(problem, example_mapping({0, 1, 2}));
  CHECK(cost.partitions[1].sram == Bytes(112.0));
  CHECK(cost.partitions[1].pieces == 1.0);
  CHECK(cost.weights == Bytes(96.0));  // in memory it is
  problem.system.accelerator.sram = Bytes(111.0);
  CHECK(cost_of(problem, example_mapping({0, 1, 2})).partitions[1].pieces > 1.0);
}

TEST_CASE("weights and activations fit the memory to the byte") {
  Problem problem = example();
  problem.system.memory[0].capacity = Bytes(224.0);
  CHECK(cost_of(problem, example_mapping()).activations == Bytes(128.0));
  problem.system.memory[0].capacity = Bytes(223.0);
  Infeasible wrong = infeasible_of(problem, example_mapping());
  CHECK(wrong.resource == Resource::Memory);
  CHECK(wrong.needed == 224.0);
  CHECK(wrong.available == 223.0);
  CHECK(wrong.where == "weights and activations");
  problem.system.memory[0].capacity = Bytes(95.0);
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

TEST_CASE("pins, of partitions and of loops, are kept") {
  Problem problem = example();
  problem.execution.pins = {std::nullopt, 0, 1};
  problem.sharding_pins = {std::nullopt, Loop::K, std::nullopt};
  CHECK(cost_of(problem, example_mapping()).partitions.size() == 2);

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
  CHECK(cost.partitions[1].compute.in_base_units() ==
        doctest::Approx(3 * 1.2 + 2 * 0.2).epsilon(1e-12));
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

// Eight times 2^60 is 2^63, sixteen times 2^64: in 64 bits less than nothing, and nothing.
TEST_CASE("so many huge grids that their sum overflows are too many as well") {
  for (const std::size_t kernels : {8U, 9U, 16U}) {
    CAPTURE(kernels);
    Problem problem = idle_problem(kernels);
    problem.execution.compute_utilization.reset();
    Mapping mapping = plain_mapping(problem);
    mapping.cores.assign(kernels,
                         {.lanes = std::int64_t{1} << 30, .stages = std::int64_t{1} << 30});
    const Infeasible wrong = infeasible_of(problem, mapping);
    CHECK(wrong.resource == Resource::Cores);
    CHECK(wrong.needed >= 0x1p63);
  }
}

TEST_CASE("the greatest index of a partition is too great, not a negative number") {
  Mapping mapping = example_mapping();
  mapping.partition[2] = std::numeric_limits<std::int64_t>::max();
  const Infeasible wrong = infeasible_of(example(), mapping);
  CHECK(wrong.resource == Resource::Partitions);
  CHECK(wrong.needed >= 0x1p63);
}

TEST_CASE("partitions without kernels take no time, however many there are") {
  Problem problem = example();
  problem.execution.partitions = std::numeric_limits<std::int64_t>::max();
  const Cost close = cost_of(problem, example_mapping());
  for (const SplitPhases phases : {SplitPhases::Separate, SplitPhases::Halves}) {
    problem.equations.phases = phases;
    const Cost far = cost_of(problem, example_mapping({0, 0, std::int64_t{1} << 62}));
    CHECK(far.step_time == close.step_time);
    CHECK(far.activations == close.activations);
    CHECK(far.partitions.size() == 2);
  }
}

}  // namespace
}  // namespace dfsearch
