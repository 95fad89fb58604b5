#include "io/config/load_config.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/workloads/generators.hpp"
#include "support/temporary_directory.hpp"

namespace dfsearch {
namespace {

using test::TemporaryDirectory;

// The example of the published system, written out.
const char* const kExample = R"(workload:
  kind: llm_training
  hidden: 25600
  heads: 160
  head_dim: 160
  sequence: 2048
  layers: 128
  word: 2 B
  global_batch: 3072
  micro_batch: 1
system:
  chips: 1024
  accelerator: {cores: 1280, lanes: 32, stages: 6, frequency: 1.25 GHz, sram: 640 MiB}
  memory: {bandwidth: 300 GB/s, capacity: 1099511600000 B}
  network:
    - {topology: ring, degree: 8, bandwidth: 50 GB/s, strategy: tensor}
    - {topology: switch, degree: 128, bandwidth: 25 GB/s, strategy: pipeline}
execution: {style: dataflow, partitions: 6, overlap: perfect, compute_utilization: 0.9}
price: {accelerator: 16522.25023, memory: 1.0, link: 2.0, switch: 24.0}
power: {accelerator: 444.7061955, memory: 0.16248, link: [0.052, 0.104], switch: 0.052}
equations: published
search: {sharding: least_bytes, objective: step_time, gap: 0.001, time_limit: 20 min}
)";

// The least there can be.
const char* const kSmallSystem = R"(
system:
  chips: 1
  accelerator: {cores: 4, lanes: 2, stages: 2, frequency: 1 GHz, sram: 1 MB}
  memory: {bandwidth: 1 GB/s}
)";

Config load(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const TemporaryDirectory directory;
  return load_config(directory.write("config.yaml", text), overrides);
}

Workload load_graph(const std::string& workload) {
  return load("workload:\n  kind: graph\n" + workload + kSmallSystem).problem.workload;
}

TEST_CASE("a config becomes the values it says") {
  const Config config = load(kExample);
  const Workload& workload = config.problem.workload;
  CHECK(workload.kind == WorkloadKind::LlmTraining);
  CHECK(workload.graph ==
        llm_training_graph({.hidden = 25600, .heads = 160, .head_dim = 160, .sequence = 2048}));
  CHECK(workload.layers == 128);
  CHECK(workload.global_batch == 3072);
  CHECK(workload.sequence == 2048);
  CHECK(workload.micro_batch == 1);
  CHECK_FALSE(workload.tile);
  CHECK(workload.word == Bytes(2.0));
  CHECK(workload.boundary == Bytes(104857600.0));  // 25600 * 2048 * 2

  const Machine& system = config.problem.system;
  CHECK(system.chips == 1024);
  CHECK(system.accelerator.cores == 1280);
  CHECK(system.accelerator.lanes == 32);
  CHECK(system.accelerator.stages == 6);
  CHECK(system.accelerator.frequency == Hertz(1.25e9));
  CHECK(system.accelerator.sram == Bytes(671088640.0));
  CHECK(system.memory[0].bandwidth == BytesPerSecond(300e9));
  CHECK(system.memory[0].capacity == Bytes(1099511600000.0));
  REQUIRE(system.network.size() == 2);
  CHECK(system.network[0].topology == Topology::Ring);
  CHECK(system.network[0].degree == 8);
  CHECK(system.network[0].bandwidth == BytesPerSecond(50e9));
  CHECK(system.network[0].strategy == Strategy::Tensor);
  CHECK(system.network[1].topology == Topology::Switch);
  CHECK(system.network[1].degree == 128);
  CHECK(system.network[1].bandwidth == BytesPerSecond(25e9));
  CHECK(system.network[1].strategy == Strategy::Pipeline);

  const Execution& execution = config.problem.execution;
  CHECK(execution.style == Style::Dataflow);
  CHECK(execution.partitions == 6);
  CHECK(execution.overlap == Overlap::Perfect);
  CHECK(execution.compute_utilization == 0.9);
  CHECK(execution.pins.empty());
  CHECK(config.problem.sharding_pins.empty());
  CHECK(config.search.gap == 0.001);
  CHECK(config.search.time_limit == Seconds(1200.0));
}

TEST_CASE("price and power are per GB/s, links for every dimension") {
  const Machine system = load(kExample).problem.system;
  CHECK(system.price.accelerator == Dollars(16522.25023));
  CHECK(system.price.memory == DollarsPerBandwidth(1e-9));
  REQUIRE(system.price.link.size() == 2);
  CHECK(system.price.link[0] == DollarsPerBandwidth(2e-9));
  CHECK(system.price.link[1] == DollarsPerBandwidth(2e-9));
  CHECK(system.price.switch_port == DollarsPerBandwidth(24e-9));
  CHECK(system.power.accelerator == Watts(444.7061955));
  REQUIRE(system.power.link.size() == 2);
  CHECK(system.power.link[0] == WattsPerBandwidth(0.052 / 1e9));
  CHECK(system.power.link[1] == WattsPerBandwidth(0.104 / 1e9));
  CHECK(system.power.switch_port == WattsPerBandwidth(0.052 / 1e9));
}

TEST_CASE("what is left out has its default") {
  const Config config = load(std::string(R"(workload:
  {kind: llm_prefill, hidden: 8, heads: 2, head_dim: 4, sequence: 16, layers: 3, global_batch: 5}
)") + kSmallSystem);
  const Problem& problem = config.problem;
  CHECK(problem.workload.word == Bytes(2.0));
  CHECK_FALSE(problem.workload.micro_batch);
  CHECK(problem.workload.boundary == Bytes(0.0));
  CHECK(problem.workload.graph.kernel_count() == 18);
  CHECK(problem.system.network.empty());
  CHECK(problem.system.memory[0].capacity == Bytes::infinity());
  CHECK(problem.system.price.accelerator == Dollars(0.0));
  CHECK(problem.system.price.link.empty());
  CHECK(problem.execution.style == Style::Dataflow);
  CHECK_FALSE(problem.execution.partitions);
  CHECK(problem.execution.overlap == Overlap::Perfect);
  CHECK_FALSE(problem.execution.compute_utilization);
  CHECK(problem.equations.virtual_stages == VirtualStages::Layers);
  CHECK(problem.equations.phases == SplitPhases::Separate);
  CHECK(config.search.gap == 0.0);
  CHECK(config.search.time_limit == Seconds::infinity());
}

TEST_CASE("links without a price are free in every dimension") {
  const Machine system = load(kExample, {"price=null", "power.link=null"}).problem.system;
  CHECK(system.price.link == std::vector<DollarsPerBandwidth>(2));
  CHECK(system.power.link == std::vector<WattsPerBandwidth>(2));
}

TEST_CASE("a star sets all items of a list") {
  const Machine system =
      load(kExample, {"system.network.*.bandwidth=7 GB/s", "power.link.*=0.5"}).problem.system;
  REQUIRE(system.network.size() == 2);
  for (const NetworkDimension& dimension : system.network) {
    CHECK(dimension.bandwidth == BytesPerSecond(7e9));
  }
  CHECK(system.network[0].degree == 8);
  CHECK(system.network[1].degree == 128);
  CHECK(system.power.link[1].in_base_units() == 0.5e-9);
}

TEST_CASE("degrees and strategies may be left to the search, within limits") {
  const Config config =
      load(kExample, {"system.network.0.degree=null", "system.network.1.strategy=null",
                      "parallelism={tensor: 4, pipeline: [1, 2], data: ..4}"});
  const Machine& system = config.problem.system;
  CHECK_FALSE(system.network[0].degree);
  CHECK(system.network[0].strategy == Strategy::Tensor);
  CHECK(system.network[1].degree == 128);
  CHECK_FALSE(system.network[1].strategy);
  const auto& [tensor, pipeline, data] = config.problem.parallelism;
  CHECK(tensor.values == std::vector<std::int64_t>{4});
  CHECK(pipeline.values == std::vector<std::int64_t>{1, 2});
  CHECK(data.allows(1));
  CHECK(data.allows(4));
  CHECK_FALSE(data.allows(5));
  const auto range = load(kExample, {"parallelism.data=2..8"}).problem.parallelism[2];
  CHECK(range.least == 2);
  CHECK(range.most == 8);
  CHECK(load(kExample, {"parallelism.data=2.."}).problem.parallelism[2].allows(1 << 30));
}

TEST_CASE("a preset says how loops are chosen, unless the config does") {
  const auto sharding = [](const std::string& equations, const std::string& search) {
    return load(kExample, {"equations=" + equations, "search=" + search}).problem.sharding;
  };
  for (const char* physical :
       {"physical", "null", "{all_reduce_passes: 1}", "{preset: physical}"}) {
    CAPTURE(physical);
    CHECK(sharding(physical, "null") == ShardingChoice::Joint);
    CHECK(sharding(physical, "{gap: 0.1}") == ShardingChoice::Joint);
    CHECK(sharding(physical, "{sharding: least_bytes}") == ShardingChoice::LeastBytes);
  }
  for (const char* published : {"published", "{preset: published, all_reduce_passes: 1}"}) {
    CAPTURE(published);
    CHECK(sharding(published, "null") == ShardingChoice::LeastBytes);
    CHECK(sharding(published, "{gap: 0.1}") == ShardingChoice::LeastBytes);
    CHECK(sharding(published, "{sharding: joint}") == ShardingChoice::Joint);
  }
}

TEST_CASE("equations are a preset, or one with switches changed") {
  const auto equations = [](const std::string& value) {
    return load(kExample, {"equations=" + value}).problem.equations;
  };
  CHECK(equations("published").virtual_stages == VirtualStages::LayersMinusOne);
  CHECK(equations("published").layout_conversion_bytes == ConversionBytes::Shard);
  CHECK(equations("published").phases == SplitPhases::Halves);
  CHECK(equations("physical").phases == SplitPhases::Separate);
  CHECK(equations("{}").phases == SplitPhases::Separate);
  const Equations changed = equations(
      "{preset: published, all_reduce_passes: 1, virtual_stages: 4, phases: separate, "
      "weight_traffic: per_sample}");
  CHECK(changed.all_reduce_passes == 1);
  CHECK(changed.virtual_stages == VirtualStages::Fixed);
  CHECK(changed.fixed_virtual_stages == 4);
  CHECK(changed.phases == SplitPhases::Separate);
  CHECK(changed.layout_conversion_bytes == ConversionBytes::Shard);
  CHECK(changed.weight_traffic == WeightTraffic::PerSample);
  // Nothing in this version uses these, but they are no mistakes.
  equations("{all_to_all: bisection, all_to_all_pairs: n2_4, dlrm_gradient_bandwidth: 1 GB/s}");
}

TEST_CASE("pins name kernels") {
  const Problem problem = load(kExample, {"execution.pins={Q: 0, Add_2: 2}",
                                          "sharding={pins: {V_bwd: K, DropOut_2: none}}"})
                              .problem;
  REQUIRE(problem.execution.pins.size() == 41);
  CHECK(problem.execution.pins[2] == 0);
  CHECK(problem.execution.pins[17] == 2);
  CHECK_FALSE(problem.execution.pins[0]);
  REQUIRE(problem.sharding_pins.size() == 41);
  CHECK(problem.sharding_pins[28] == Loop::K);
  CHECK(problem.sharding_pins[10] == Loop::None);
  CHECK_FALSE(problem.sharding_pins[0]);
}

TEST_CASE("on a grid of two tensor axes pins are pairs of loops") {
  const Problem problem =
      load(kExample, {"search.sharding=joint",
                      "sharding={axes: 2, pins: {PROJ_GEMM: K/M, V_bwd: none/K, FFN0: M}}"})
          .problem;
  CHECK(problem.tensor_axes == 2);
  CHECK(problem.sharding_pins[9] == LoopPair(Loop::K, Loop::M));
  CHECK(problem.sharding_pins[28] == LoopPair(Loop::None, Loop::K));
  CHECK(problem.sharding_pins[13] == Loop::M);
}

TEST_CASE("a graph is a list of kernels and tensors") {
  const Workload workload = load_graph(R"(
  sequence: 16
  tile: 4
  layers: 2
  global_batch: 6
  micro_batch: 3
  boundary: 1 kB
  word: 4 B
  kernels:
    - {name: A, kind: elementwise, M: 6, N: 16}
    - {name: B, kind: weight_gemm, outer: 2, M: 3, K: 6, N: 16, skip_weight: true, repeat: 7}
    - {name: C, kind: gemm, M: 6, K: 6, N: 16, tiled: K, mode: simd, memory: 5 MB}
    - {name: D, kind: elementwise2, M: 6, N: 16, phase: backward, mode: systolic,
       communication: {type: all_gather, bytes: 12 B}}
    - {name: E, kind: gemm, M: 6, N: 6, K: 16, phase: backward, tiled: none,
       communication: {type: gradient_all_reduce}}
  tensors:
    - {from: A, to: B}
    - {from: B, to: C}
    - {from: A, to: C}
    - {from: A, to: D, operand: 2}
    - {from: C, to: D, operand: 1}
    - {from: D, to: E}
)");
  CHECK(workload.kind == WorkloadKind::Graph);
  CHECK(workload.sequence == 16);
  CHECK(workload.tile == 4);
  CHECK(workload.layers == 2);
  CHECK(workload.global_batch == 6);
  CHECK(workload.micro_batch == 3);
  CHECK(workload.boundary == Bytes(1000.0));
  CHECK(workload.word == Bytes(4.0));
  const std::vector<Kernel> kernels = {
      {.name = "A", .kind = KernelKind::Elementwise, .m = 6, .n = 16},
      {.name = "B",
       .kind = KernelKind::WeightGemm,
       .mode = Mode::Systolic,
       .outer = 2,
       .m = 3,
       .k = 6,
       .n = 16,
       .repeat = 7,
       .skip_weight = true},
      {.name = "C",
       .kind = KernelKind::Gemm,
       .mode = Mode::Simd,
       .tiled = Loop::K,
       .m = 6,
       .k = 6,
       .n = 16,
       .memory = Bytes(5e6)},
      {.name = "D",
       .kind = KernelKind::Elementwise2,
       .mode = Mode::Systolic,
       .phase = Phase::Backward,
       .m = 6,
       .n = 16,
       .communication = Communication{.type = CommunicationType::AllGather, .bytes = Bytes(12.0)}},
      {.name = "E",
       .kind = KernelKind::Gemm,
       .mode = Mode::Systolic,
       .phase = Phase::Backward,
       .tiled = Loop::None,
       .m = 6,
       .k = 16,
       .n = 6,
       .communication =
           Communication{.type = CommunicationType::GradientAllReduce, .bytes = Bytes()}}};
  CHECK(workload.graph.kernels() == kernels);
  std::vector<int> operands;
  for (const Tensor& tensor : workload.graph.tensors()) operands.push_back(tensor.operand);
  CHECK(operands == std::vector<int>{1, 1, 2, 2, 1, 1});
}

TEST_CASE("a graph without a sequence is not tiled") {
  const Workload workload =
      load_graph("  kernels: [{name: A, kind: elementwise}]\n  tensors: []\n");
  CHECK(workload.sequence == 1);
  CHECK(workload.layers == 1);
  CHECK(workload.global_batch == 1);
  CHECK(workload.boundary == Bytes(0.0));
  CHECK(workload.graph.kernels()[0].tiled == Loop::None);
}

TEST_CASE("a partition of a kernel is a pin, which execution may move") {
  const std::string text = std::string(R"(workload:
  kind: graph
  kernels:
    - {name: A, kind: elementwise, partition: 0}
    - {name: B, kind: elementwise, partition: 1}
    - {name: C, kind: elementwise}
  tensors: [{from: A, to: B}, {from: B, to: C}]
)") + kSmallSystem;
  using Pins = std::vector<std::optional<std::int64_t>>;
  CHECK(load(text).problem.execution.pins == Pins{0, 1, std::nullopt});
  CHECK(load(text, {"execution.pins.B=2"}).problem.execution.pins == Pins{0, 2, std::nullopt});
}

TEST_CASE("a section may come from a file, with changes on top") {
  const TemporaryDirectory directory;
  directory.write("systems/base.yaml", R"(chips: 8
accelerator: {cores: 4, lanes: 2, stages: 2, frequency: 1 GHz, sram: 1 MB}
memory: {bandwidth: 1 GB/s, capacity: 1 GB}
network:
  - {topology: ring, degree: 4, bandwidth: 1 GB/s, strategy: tensor}
  - {topology: ring, degree: 2, bandwidth: 1 GB/s, strategy: data}
)");
  // Relative to the file that says it.
  directory.write("systems/fast.yaml", "from: base.yaml\nmemory: {bandwidth: 9 GB/s}\n");
  directory.write("workloads/small.yaml",
                  "{kind: llm_prefill, hidden: 8, heads: 2, head_dim: 4, sequence: 16, layers: 3, "
                  "global_batch: 4}");
  const auto file = directory.write("config.yaml", R"(
workload: {from: workloads/small.yaml, layers: 7}
system:
  from: systems/fast.yaml
  memory: {capacity: 2 GB}
  network: [{topology: switch, degree: 8, bandwidth: 5 GB/s, strategy: tensor}]
)");
  const Problem problem = load_config(file, {}).problem;
  CHECK(problem.workload.layers == 7);
  CHECK(problem.workload.sequence == 16);
  CHECK(problem.system.memory[0].bandwidth == BytesPerSecond(9e9));
  CHECK(problem.system.memory[0].capacity == Bytes(2e9));
  CHECK(problem.system.accelerator.cores == 4);
  REQUIRE(problem.system.network.size() == 1);  // lists are replaced
  CHECK(problem.system.network[0].topology == Topology::Switch);

  // The command line comes last, and may choose the file.
  const Problem changed =
      load_config(file, {"system.memory.capacity=3 GB", "system={from: systems/base.yaml}",
                         "system.network.0.bandwidth=7 GB/s", "system.chips=4",
                         "system.network.1.degree=1"})
          .problem;
  CHECK(changed.system.chips == 4);
  CHECK(changed.system.memory[0].capacity == Bytes(3e9));
  CHECK(changed.system.memory[0].bandwidth == BytesPerSecond(1e9));
  REQUIRE(changed.system.network.size() == 2);
  CHECK(changed.system.network[0].bandwidth == BytesPerSecond(7e9));
}

TEST_CASE("overrides reach every key") {
  const Config config = load(
      kExample, {"system.network.0.degree=16",
                 "system.network.1={topology: ring, degree: 64, "
                 "bandwidth: 1 GB/s, strategy: data}",
                 "workload.micro_batch=null", "equations.all_reduce_passes=1", "execution.pins.Q=1",
                 "system.memory.capacity=null", "search.gap=0.5", "search.gap=0.25"});
  CHECK(config.problem.system.network[0].degree == 16);
  CHECK(config.problem.system.network[1].strategy == Strategy::Data);
  CHECK_FALSE(config.problem.workload.micro_batch);
  CHECK(config.problem.equations.all_reduce_passes == 1);
  CHECK(config.problem.equations.phases == SplitPhases::Halves);  // still published
  CHECK(config.problem.execution.pins[2] == 1);
  CHECK(config.problem.system.memory[0].capacity == Bytes::infinity());
  CHECK(config.search.gap == 0.25);
}

TEST_CASE("an override may make the section it is in") {
  const std::string text = std::string(R"(workload:
  {kind: llm_prefill, hidden: 8, heads: 2, head_dim: 4, sequence: 16, layers: 3, global_batch: 5}
)") + kSmallSystem + "execution:\n";
  const Config config = load(text, {"execution.overlap=none", "search.time_limit=3 s"});
  CHECK(config.problem.execution.overlap == Overlap::None);
  CHECK(config.search.time_limit == Seconds(3.0));
}

TEST_CASE("JSON is read as well") {
  const Config config = load(
      "{\n\t\"workload\":{\"kind\":\"llm_prefill\",\"hidden\":8,\"heads\":2,"
      "\"head_dim\":4,\"sequence\":16,\"layers\":3,\"global_batch\":5},\r\n"
      "\t\"system\":{\"chips\":1,\"accelerator\":{\"cores\":4,\"lanes\":2,"
      "\"stages\":2,\"frequency\":\"1 GHz\",\"sram\":\"1 MB\"},"
      "\"memory\":{\"bandwidth\":\"1 GB/s\"},\"network\":[]},\n"
      "\t\"search\":{\"gap\":1e-3}\n}\n");
  CHECK(config.problem.workload.graph.kernel_count() == 18);
  CHECK(config.problem.system.accelerator.sram == Bytes(1e6));
  CHECK(config.search.gap == 0.001);
}

TEST_CASE("the shipped systems and workloads are those of the shipped configs") {
  const Problem alone = load_config("configs/gpt3_1t.yaml", {}).problem;
  const Problem joined =
      load_config("configs/gpt3_1t.yaml", {"workload={from: workloads/gpt3_1t_training.yaml}",
                                           "system={from: systems/sn30_2d_torus.yaml}"})
          .problem;
  CHECK(alone.workload.graph == joined.workload.graph);
  CHECK(alone.workload.global_batch == joined.workload.global_batch);
  CHECK(alone.workload.layers == joined.workload.layers);
  CHECK(alone.system.memory[0].capacity == joined.system.memory[0].capacity);
  CHECK(alone.system.accelerator.cores == joined.system.accelerator.cores);
  CHECK(alone.system.chips == joined.system.chips);
}

}  // namespace
}  // namespace dfsearch
