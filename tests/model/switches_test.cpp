// Every switch of the equations, and what the workloads of the whole machine add to
// the plain ones, each by its effect on an example that is calculated by hand.

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "graph/workloads/generators.hpp"
#include "model/evaluate.hpp"
#include "model/machine/price_power.hpp"
#include "support/model_worlds.hpp"

namespace dfsearch {
namespace {

using test::cost_of;
using test::dimension;
using test::elementwise;
using test::example;
using test::example_mapping;
using test::infeasible_of;
using test::plain_mapping;
using test::tensor;
using test::weight_gemm;

doctest::Approx about(double value) { return doctest::Approx(value).epsilon(1e-12); }

/// `ring` chips in a ring of 10 B/s links that serves one strategy, nothing else in
/// the way: compute and memory take next to no time.
Problem ring_world(std::vector<Kernel> kernels, std::vector<Tensor> tensors, std::int64_t ring,
                   Strategy strategy) {
  Problem problem = test::idle_problem(1);
  problem.workload.graph = DataflowGraph(std::move(kernels), std::move(tensors));
  problem.workload.word = Bytes(2.0);
  problem.system.chips = ring;
  problem.system.network = {dimension(Topology::Ring, ring, 10.0, strategy)};
  problem.system.accelerator.frequency = Hertz(1e9);
  problem.system.memory[0].bandwidth = BytesPerSecond(1e12);
  return problem;
}

double network_of_first(const Problem& problem, const Mapping& mapping) {
  return cost_of(problem, mapping).partitions.front().network.in_base_units();
}

/// All forward kernels in one partition, all backward ones in the next.
Mapping plain_mapping_of_phases(const Problem& problem) {
  Mapping mapping = plain_mapping(problem);
  mapping.tile = problem.workload.sequence;
  const std::vector<Kernel>& kernels = problem.workload.graph.kernels();
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    mapping.partition[k] = kernels[k].phase == Phase::Backward ? 1 : 0;
  }
  return mapping;
}

Kernel communicating(Communication own, std::int64_t m = 8, std::int64_t n = 4) {
  Kernel kernel = elementwise("A", m, n);
  kernel.communication = own;
  return kernel;
}

}  // namespace

TEST_CASE("virtual_stages: the bubble is spread over them") {
  // Two stages, three micro-batches, two layers a stage.
  Problem problem = example();
  const auto bubble = [&problem] { return cost_of(problem, example_mapping()).bubble_factor; };
  CHECK(bubble() == about(1.0 + 1.0 / (3 * 2)));  // physical: v = L = 2
  problem.equations = Equations::published();
  CHECK(bubble() == about(1.0 + 1.0 / (3 * 1)));  // v = L - 1
  problem.equations.virtual_stages = VirtualStages::Fixed;
  problem.equations.fixed_virtual_stages = 5;
  CHECK(bubble() == about(1.0 + 1.0 / (3 * 5)));
}

TEST_CASE("weight_traffic: what the SRAM cannot hold of a stage is loaded once a step") {
  // B's shard of 48 B at 40 B/s for the six samples of a replica; two layers a stage: 96 B.
  Problem problem = example();
  problem.execution.style = Style::KernelByKernel;  // whatever the SRAM, it fits
  problem.system.memory[0].capacity = Bytes(1e6);
  Mapping mapping = example_mapping({0, 1, 2});
  const auto layer_time = [&](double sram) {
    problem.system.accelerator.sram = Bytes(sram);
    return cost_of(problem, mapping).layer_time.in_base_units();
  };
  problem.equations.weight_traffic = WeightTraffic::Resident;
  const double resident = layer_time(1.0);
  problem.equations.weight_traffic = WeightTraffic::PerStep;
  CHECK(layer_time(96.0) == about(resident));
  CHECK(layer_time(95.0) == about(resident + 1.2 / 6));
  const auto change_b = [&problem](auto change) {
    std::vector<Kernel> kernels = problem.workload.graph.kernels();
    change(kernels[1]);
    problem.workload.graph = DataflowGraph(kernels, problem.workload.graph.tensors());
  };
  SUBCASE("of many matrices, of which a sample uses one, no more than the samples use") {
    // Four are 192 B, 32 B for each of the six samples; nine are more than six samples use.
    change_b([](Kernel& b) { b.matrices = 4; });
    CHECK(layer_time(96.0) == about(resident + 4 * 1.2 / 6));
    change_b([](Kernel& b) { b.matrices = 9; });
    CHECK(layer_time(96.0) == about(resident + 1.2));
  }
  SUBCASE("a kernel that uses the weight of another loads it once more, but holds none") {
    // 96 B are held, as before; both kernels load 48 B.
    Kernel again = weight_gemm("C", 6, 8, 4);
    again.weight_of = KernelId(1);
    std::vector<Kernel> kernels = problem.workload.graph.kernels();
    kernels[2] = again;
    problem.workload.graph = DataflowGraph(kernels, problem.workload.graph.tensors());
    mapping.sharding[2] = Loop::K;
    const double fits = layer_time(96.0);
    CHECK(layer_time(95.0) == about(fits + 2 * 1.2 / 6));
  }
  SUBCASE("what explicit traffic of the tensor group reads is not read twice") {
    change_b([](Kernel& b) { b.sharded_memory = Bytes(192.0); });
    const double read = layer_time(96.0);
    CHECK(layer_time(95.0) == about(read));
  }
}

TEST_CASE("all_to_all and all_to_all_pairs: a chip's bytes to all others") {
  // Four chips send 96 B each, 24 B a pair.  By dimensions: 4/8 of 96 B at 10 B/s.
  // Over the bisection: 8 pairs (4^2 / 2) of 24 B over two links.
  Problem problem =
      ring_world({communicating({.type = CommunicationType::AllToAll, .bytes = Bytes(96.0)})}, {},
                 4, Strategy::Data);
  problem.workload.global_batch = 4;
  const Mapping mapping = plain_mapping(problem);
  CHECK(network_of_first(problem, mapping) == about(4.8));
  problem.equations = Equations::published();
  CHECK(network_of_first(problem, mapping) == about(8 * 24.0 / 20));
  problem.equations.all_to_all_pairs = PairCount::QuarterSquare;
  CHECK(network_of_first(problem, mapping) == about(4 * 24.0 / 20));
  problem.equations.all_to_all_pairs = PairCount::AllPairs;
  CHECK(network_of_first(problem, mapping) == about(6 * 24.0 / 20));
  problem.equations.all_to_all = AllToAllTime::PerDimension;
  CHECK(network_of_first(problem, mapping) == about(4.8));
}

TEST_CASE("a transposition spreads its bytes over all chips and all pairs of them") {
  // 384 B on four chips: 96 B each, as above.
  Problem problem =
      ring_world({communicating({.type = CommunicationType::Transpose, .bytes = Bytes(384.0)})}, {},
                 4, Strategy::Tensor);
  CHECK(network_of_first(problem, plain_mapping(problem)) == about(4.8));
}

TEST_CASE("dlrm_gradient_bandwidth: the network's slowest or a given one") {
  // 8 x 4 x 2 B, twice, for each of 12 / 4 micro-batches.
  Problem problem =
      ring_world({communicating({.type = CommunicationType::FlatGradientAllReduce, .bytes = {}})},
                 {}, 4, Strategy::Data);
  problem.workload.global_batch = 12;
  const Mapping mapping = plain_mapping(problem);
  CHECK(network_of_first(problem, mapping) == about(2.0 * 64 / 10 / 3));
  problem.equations.dlrm_gradient_bandwidth = BytesPerSecond(4.0);
  CHECK(network_of_first(problem, mapping) == about(2.0 * 64 / 4 / 3));
  problem.equations = Equations::published();  // bytes taken as nanoseconds
  CHECK(network_of_first(problem, mapping) == about(2.0 * 64e-9 / 3));
}

TEST_CASE("a gradient among several dimensions goes at the slowest link") {
  Problem problem =
      ring_world({communicating({.type = CommunicationType::FlatGradientAllReduce, .bytes = {}})},
                 {}, 4, Strategy::Data);
  problem.system.chips = 8;
  problem.system.network.push_back(dimension(Topology::Switch, 2, 5.0, Strategy::Data));
  problem.system.network.push_back(dimension(Topology::Switch, 1, 1.0, Strategy::Data));
  problem.workload.global_batch = 8;
  CHECK(network_of_first(problem, plain_mapping(problem)) == about(2.0 * 64 / 5));
}

TEST_CASE("of two communications of a kernel the slower counts") {
  // A grid of 4 x 2: 80 B / 4 over the second dimension, 80 B / 2 over the first.
  Kernel kernel = communicating({.type = CommunicationType::GridBroadcast, .bytes = Bytes(80.0)});
  kernel.second_communication =
      Communication{.type = CommunicationType::GridPointToPoint, .bytes = Bytes(80.0)};
  Problem problem = ring_world({kernel}, {}, 4, Strategy::Tensor);
  problem.system.chips = 8;
  problem.system.network.push_back(dimension(Topology::Ring, 2, 4.0, Strategy::Tensor));
  CHECK(network_of_first(problem, plain_mapping(problem)) == about(20.0 / 4));
  problem.system.network[1].bandwidth = BytesPerSecond(20.0);
  CHECK(network_of_first(problem, plain_mapping(problem)) == about(40.0 / 10));
}

TEST_CASE("latency: an all-reduce pays it there and back, once whatever the tiles and passes") {
  // Two members of a ring: 2 * 1 * 0.125 s.
  Problem problem = example();
  problem.system.network[0].latency = Seconds(0.125);
  CHECK(network_of_first(problem, example_mapping()) == about(0.8 + 0.25));
  problem.equations.all_reduce_passes = 1;
  CHECK(network_of_first(problem, example_mapping()) == about(0.4 + 0.25));

  Problem own =
      ring_world({communicating({.type = CommunicationType::AllReduce, .bytes = Bytes(40.0)})}, {},
                 5, Strategy::Tensor);
  own.system.network[0].latency = Seconds(0.5);
  // Four hops there and back on a ring, whatever the rule; one behind a switch, but published.
  const auto seconds = [&own] { return network_of_first(own, plain_mapping(own)); };
  CHECK(seconds() == about(2 * 0.8 * 40 / 10 + 2 * 4 * 0.5));
  own.system.network[0].topology = Topology::Switch;
  CHECK(seconds() == about(2 * 0.8 * 40 / 10 + 2 * 0.5));
  own.equations.latency = LatencyRule::AllReduces;
  CHECK(seconds() == about(2 * 0.8 * 40 / 10 + 2 * 4 * 0.5));
  own.system.network[0].topology = Topology::FullyConnected;
  CHECK(seconds() == about(2 * 0.2 * 40 / 10 + 2 * 0.5));
}

TEST_CASE("latency: one rule for every exchange, by the hops of the topology") {
  // Five members and no bytes worth mentioning: gather and exchange hops.
  struct Row {
    Topology topology;
    double gather, exchange;
  };
  const Row rows[] = {
      {Topology::Ring, 4, 2}, {Topology::FullyConnected, 1, 1}, {Topology::Switch, 1, 1}};
  using Type = CommunicationType;
  for (const auto& [topology, gather, exchange] : rows) {
    for (const bool hops : {true, false}) {
      const auto seconds = [&, topology = topology](std::vector<Kernel> kernels,
                                                    std::vector<LoopPair> loops,
                                                    Strategy strategy) {
        const std::size_t count = kernels.size();
        Problem problem =
            ring_world(std::move(kernels),
                       count > 1 ? std::vector{tensor(0, 1)} : std::vector<Tensor>{}, 5, strategy);
        problem.system.network[0] = dimension(topology, 5, 1e30, strategy);
        problem.system.network[0].latency = Seconds(0.5);
        problem.workload.global_batch = 10;
        problem.equations.latency = hops ? LatencyRule::Hops : LatencyRule::AllReduces;
        Mapping mapping = plain_mapping(problem);
        mapping.sharding = std::move(loops);
        return network_of_first(problem, mapping);
      };
      const auto own = [&](Type type, Strategy strategy = Strategy::Tensor) {
        return seconds({communicating({.type = type, .bytes = Bytes(1.0)})}, {Loop::None},
                       strategy);
      };
      const auto about_hops = [hops](double count) { return about(hops ? 0.5 * count : 0.0); };
      CHECK(own(Type::AllGather) == about_hops(gather));
      CHECK(own(Type::PointToPoint) == about_hops(1));
      CHECK(own(Type::AllToAll) == about_hops(exchange));
      CHECK(own(Type::Transpose, Strategy::Data) == about_hops(exchange));
      // Two micro-batches share the one all-reduce of the gradients.
      CHECK(own(Type::GradientAllReduce, Strategy::Data) == about_hops(2 * gather / 2));
      CHECK(own(Type::FlatGradientAllReduce, Strategy::Data) == about_hops(2 * gather / 2));
      // Rows to replicated, and rows to columns.
      const auto converted = [&](Loop loop) {
        Kernel reader = elementwise("B", 8, 4);
        reader.tiled = Loop::None;
        return seconds({elementwise("A", 8, 4), reader}, {Loop::M, loop}, Strategy::Tensor);
      };
      CHECK(converted(Loop::None) == about_hops(gather));
      CHECK(converted(Loop::N) == about_hops(exchange));
    }
  }
}

TEST_CASE("latency: a conversion pays it once whatever the tiles, an exchange in every dimension") {
  Kernel reader = elementwise("B", 8, 4);
  reader.tiled = Loop::None;
  Problem problem =
      ring_world({elementwise("A", 8, 4), reader}, {tensor(0, 1)}, 12, Strategy::Tensor);
  problem.workload.sequence = 4;
  problem.system.network = {dimension(Topology::Ring, 4, 1e30),
                            dimension(Topology::Switch, 3, 1e30)};
  problem.system.network[0].latency = Seconds(1.0);
  problem.system.network[1].latency = Seconds(10.0);
  Mapping mapping = plain_mapping(problem);
  mapping.tile = 1;
  mapping.sharding = {Loop::M, Loop::None};
  CHECK(network_of_first(problem, mapping) == about(3 * 1.0 + 10.0));
  mapping.sharding = {Loop::M, Loop::N};
  CHECK(network_of_first(problem, mapping) == about(2 * 1.0 + 10.0));
}

TEST_CASE("kernels on the grid or on all chips have their own shards") {
  Kernel grid = weight_gemm("grid", 10, 9, 6);
  grid.spread = Spread::Grid;
  Kernel all = weight_gemm("all", 10, 9, 13);
  all.spread = Spread::Machine;
  Problem problem = ring_world({grid, all}, {}, 4, Strategy::Tensor);
  problem.system.chips = 8;
  problem.system.network.push_back(dimension(Topology::Ring, 2, 4.0, Strategy::Tensor));
  problem.system.accelerator.frequency = Hertz(1.0);  // peak 2 * 1000 FLOP/s
  problem.execution.partitions = 2;
  Mapping mapping = plain_mapping(problem);
  CHECK(mapping.sharding == std::vector<LoopPair>{Loop::None, Loop::None});
  mapping.partition = {0, 1};
  const Cost cost = cost_of(problem, mapping);
  // ceil(10 / 4) x ceil(9 / 2) x 6 and 10 x 9 x ceil(13 / 8), two FLOP each.
  CHECK(cost.partitions[0].compute.in_base_units() == about(2.0 * 3 * 5 * 6 / 2000));
  CHECK(cost.partitions[1].compute.in_base_units() == about(2.0 * 10 * 9 * 2 / 2000));
  // Weights of 3 x 5 and 10 x 9 elements of 2 B.
  CHECK(cost.weights.in_base_units() == 2.0 * (15 + 90));
}

TEST_CASE("a weight that several kernels use is stored once") {
  Problem problem = example();
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  kernels.push_back(weight_gemm("B_bwd", 8, 6, 4));
  kernels.back().phase = Phase::Backward;
  kernels.back().weight_of = KernelId(1);
  problem.workload.graph = DataflowGraph(std::move(kernels), {tensor(0, 1), tensor(1, 2)});
  Mapping mapping = example_mapping({0, 0, 1, 2});
  mapping.sharding.push_back(Loop::K);
  // Two layers of 48 B; on the chip it is again while B_bwd runs.
  const Cost once = cost_of(problem, mapping);
  CHECK(once.weights == Bytes(96.0));
  CHECK(once.partitions[2].sram == Bytes(48.0));
}

TEST_CASE("weights of a transformer that trains are those of its forward pass") {
  const LlmShape shape{.hidden = 8, .heads = 2, .head_dim = 4, .sequence = 4};
  Problem problem;
  problem.workload.sequence = 4;
  problem.system.accelerator = {.cores = 100, .frequency = Hertz(1.0), .sram = Bytes(1e9)};
  problem.system.memory[0].bandwidth = BytesPerSecond(1.0);
  problem.workload.graph = llm_training_graph(shape);
  // Q, K, V, PROJ of h x h and two of 4 h x h, words of 2 B.
  CHECK(cost_of(problem, plain_mapping_of_phases(problem)).weights == Bytes(2.0 * 12 * 64));
}

TEST_CASE("lone_kernels: alone they stream through the SRAM, whatever its size and the style") {
  Problem problem = example();
  problem.execution.style = Style::KernelByKernel;
  problem.equations.weight_traffic = WeightTraffic::Resident;
  const Cost roomy = cost_of(problem, example_mapping({0, 1, 2}));
  problem.system.accelerator.sram = Bytes(10.0);
  const Cost tight = cost_of(problem, example_mapping({0, 1, 2}));
  CHECK(tight.step_time == roomy.step_time);
  for (const PartitionCost& partition : tight.partitions) CHECK(partition.sram == Bytes(10.0));
  problem.equations.lone_kernels = LoneKernels::Whole;
  CHECK(infeasible_of(problem, example_mapping({0, 1, 2})).resource == Resource::Sram);
  problem.equations.lone_kernels = LoneKernels::Streamed;
  problem.execution.style = Style::Dataflow;
  CHECK(cost_of(problem, example_mapping({0, 1, 2})).step_time == roomy.step_time);
  // Kernels that hand each other tiles on the chip must fit, and pieces that take time are whole.
  CHECK(infeasible_of(problem, example_mapping({0, 0, 1})).resource == Resource::Sram);
  problem.equations.weight_pieces = WeightPieces::Published;
  CHECK(infeasible_of(problem, example_mapping({0, 1, 2})).resource == Resource::Sram);
}

TEST_CASE("copies share the time of a step and have a network each") {
  Problem problem = example();
  const Cost one = cost_of(problem, example_mapping());
  problem.workload.copies = 3;
  problem.system.chips = 24;
  problem.system.price = {.accelerator = Dollars(10.0),
                          .memory = Dollars(1.0) / BytesPerSecond(1.0),
                          .link = {Dollars(1.0) / BytesPerSecond(1.0), {}, {}},
                          .switch_port = Dollars(2.0) / BytesPerSecond(1.0)};
  const Cost three = cost_of(problem, example_mapping());
  CHECK(three.layer_time == one.layer_time);
  CHECK(three.step_time.in_base_units() == about(one.step_time.in_base_units() / 3));
  CHECK(three.utilization == about(one.utilization));
  CHECK(three.flops == one.flops);
  // Links of one copy: 8 of 80 B/s; ports 2 * 8 / 2 of 80 B/s and of 5 B/s, 8 of 1 B/s.
  const double network = 8 * 80.0 + 2.0 * (8 * 80.0 + 8 * 5.0 + 8 * 1.0);
  CHECK(three.price.in_base_units() == about(24 * 10.0 + 24 * 40.0 + 3 * network));
}

TEST_CASE("copies of one chip have no links, copies of four no switch") {
  Problem problem;
  Machine& system = problem.system;
  system.chips = 12;
  system.network = {dimension(Topology::Switch, 1, 1.0)};
  system.price.link = {Dollars(1.0) / BytesPerSecond(1.0)};
  system.price.switch_port = Dollars(100.0) / BytesPerSecond(1.0);
  const auto price = [&](std::int64_t copies) {
    problem.workload.copies = copies;
    return system_price(problem, test::network_of(system));
  };
  CHECK(price(12) == Dollars(0.0));
  system.network[0].degree = 4;
  CHECK(price(3) == Dollars(12.0));
  system.network[0].degree = 6;
  CHECK(price(2) == Dollars(12.0 + 1200.0));
}

TEST_CASE("copies that do not divide the chips fit no network") {
  Problem problem = example();
  problem.workload.copies = 3;
  CHECK(problem.chips_per_copy() == 0);
  CHECK_THROWS(cost_of(problem, example_mapping()));
}

TEST_CASE("explicit memory of a tensor group is shared by its chips, or each moves what it holds") {
  // Two chips, 80 B together and 10 B of its own, at 40 B/s; C is whole on each.
  Problem problem = example();
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  const double before = cost_of(problem, example_mapping()).partitions[1].memory.in_base_units();
  kernels[2].memory = Bytes(10.0);
  kernels[2].sharded_memory = Bytes(80.0);
  problem.workload.graph = DataflowGraph(kernels, problem.workload.graph.tensors());
  CHECK(cost_of(problem, example_mapping()).partitions[1].memory.in_base_units() ==
        about(before + 0.25 + 2.0));
  problem.equations.shards = Shards::Even;
  CHECK(cost_of(problem, example_mapping()).partitions[1].memory.in_base_units() ==
        about(before + 0.25 + 1.0));
}

TEST_CASE("stored data takes its share of the memory beside weights and activations") {
  Problem problem = example();
  const Cost without = cost_of(problem, example_mapping());
  problem.workload.stored = Bytes(801.0);  // over 8 chips: 100.125 B, so 101
  const Cost with = cost_of(problem, example_mapping());
  CHECK(with.stored == Bytes(101.0));
  CHECK(with.weights == without.weights);
  problem.system.memory[0].capacity = with.weights + with.activations + with.stored;
  CHECK(cost_of(problem, example_mapping()).step_time == without.step_time);
  problem.system.memory[0].capacity = problem.system.memory[0].capacity - Bytes(1.0);
  const Infeasible reason = infeasible_of(problem, example_mapping());
  CHECK(reason.resource == Resource::Memory);
  CHECK(reason.needed - reason.available == 1.0);
}

TEST_CASE("out of core SRAM is no limit and memory holds nothing but stored data") {
  Problem problem = example();
  problem.system.accelerator.sram = Bytes(1.0);
  CHECK(infeasible_of(problem, example_mapping()).resource == Resource::Sram);
  problem.workload.out_of_core = true;
  problem.workload.stored = Bytes(80.0);
  problem.system.memory[0].capacity = Bytes(10.0);
  const Cost cost = cost_of(problem, example_mapping());
  CHECK(cost.partitions[0].sram == Bytes(0.0));
  CHECK(cost.weights + cost.activations == Bytes(0.0));
  CHECK(cost.stored == Bytes(10.0));
  // Tensors cross as before.
  CHECK(cost.partitions[1].memory.in_base_units() == about(1.6));
  problem.workload.stored = Bytes(81.0);
  CHECK(infeasible_of(problem, example_mapping()).where == "stored data");
}

TEST_CASE("what the first tier of memory cannot hold slows all of it down") {
  // Two layers of 48 B of weights; B -> C waits with 2 samples, 2 tiles, 32 B: 224 B.
  Problem problem = example();
  const Cost fast = cost_of(problem, example_mapping());
  CHECK(fast.weights + fast.activations == Bytes(224.0));
  problem.system.memory.push_back({.capacity = Bytes(672.0), .bandwidth = BytesPerSecond(8.0)});
  problem.system.memory[0].capacity = Bytes(224.0);
  const Cost held = cost_of(problem, example_mapping());
  CHECK_FALSE(held.spilled);
  CHECK(held.partitions[1].memory.in_base_units() == about(1.6));

  // A quarter of 64 B at 40 B/s and the rest at 8 B/s.
  problem.system.memory[0].capacity = Bytes(168.0);
  problem.system.memory[1].capacity = Bytes(504.0);
  const Cost spilled = cost_of(problem, example_mapping());
  CHECK(spilled.spilled);
  CHECK(spilled.partitions[1].memory.in_base_units() == about(16.0 / 40 + 48.0 / 8));
  CHECK(spilled.partitions[0].network.in_base_units() == about(0.8));
  // Published: (168 * 40 + 504 * 8) / 672 = 16 B/s.
  problem.equations.spilled = SpilledTime::Mean;
  const Cost mean = cost_of(problem, example_mapping());
  CHECK(mean.partitions[1].memory.in_base_units() == about(64.0 / 16));

  problem.system.memory[1].capacity = Bytes(55.0);
  CHECK(infeasible_of(problem, example_mapping()).available == 223.0);
}

TEST_CASE("a request passes all stages and what lies between them") {
  // Three layers on two stages count as four; 20 B to the next stage, half on each
  // of two tensor chips, at 5 B/s and 0.5 s.
  Problem problem = example();
  problem.system.network[1].latency = Seconds(0.5);
  problem.workload.serving = {.decode = true, .tokens = 7, .boundary = Bytes(20.0)};
  const Cost cost = cost_of(problem, example_mapping());
  REQUIRE(cost.serving.has_value());
  CHECK(cost.serving->latency.in_base_units() ==
        about(4 * cost.layer_time.in_base_units() + 3 * (10.0 / 5 + 0.5)));
  // Published, and with one chunk a stage, it is handed on once.
  problem.equations.pipeline = PipelineTime::Bubble;
  CHECK(cost_of(problem, example_mapping()).serving->latency.in_base_units() ==
        about(4 * cost.layer_time.in_base_units() + 10.0 / 5 + 0.5));
  problem.equations.pipeline = PipelineTime::Schedule;
  CHECK(*cost.tokens_per_second == about(7 * 12 / cost.step_time.in_base_units()));
  problem.workload.serving.reset();
  CHECK_FALSE(cost_of(problem, example_mapping()).serving.has_value());
}

TEST_CASE("operational intensity is useful FLOP for the bytes of a chip") {
  // 24 + 2 * 8 * 6 * 4 + 32 = 440 FLOP a layer and sample, 3 / 4 of them useful as two
  // stages of two layers hold three, half of them on each chip.  Memory moves
  // B -> C twice: 3.2 s at 40 B/s; the network 0.8 s at 80 B/s.
  const Cost cost = cost_of(example(), example_mapping());
  CHECK(cost.memory_intensity == about(440 * 0.75 / 2 / (3.2 * 40)));
  CHECK(cost.network_intensity == about(440 * 0.75 / 2 / (0.8 * 80)));
}

}  // namespace dfsearch
