#include "io/dfmodel/import_dfmodel.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "io/dfmodel/dfmodel_setups.hpp"

namespace dfsearch {
namespace {

using test::imported;
using test::imported_text;
using test::replaced;
using test::setup;

}  // namespace

TEST_CASE("every field of a setup has its place in the config") {
  const Config config = imported("r_execution");
  const Problem& problem = config.problem;
  const Workload& workload = problem.workload;
  CHECK(workload.graph.kernel_count() == 5);
  const Kernel& up = workload.graph.kernel(KernelId(1));
  CHECK(up == Kernel{.name = "Up",
                     .kind = KernelKind::WeightGemm,
                     .mode = Mode::Systolic,
                     .tiled = Loop::N,
                     .m = 256,
                     .k = 64,
                     .n = 32});
  CHECK(workload.graph.kernel(KernelId(4)).kind == KernelKind::Elementwise2);
  CHECK(workload.graph.tensor_count() == 5);
  CHECK(workload.graph.tensor(TensorId(3)) ==
        Tensor{.from = KernelId(3), .to = KernelId(4), .operand = 1});
  CHECK(workload.graph.tensor(TensorId(4)) ==
        Tensor{.from = KernelId(0), .to = KernelId(4), .operand = 2});
  CHECK(workload.word == Bytes(2.0));
  CHECK(workload.layers == 4);
  CHECK(workload.global_batch == 8);
  CHECK(workload.micro_batch == 1);
  CHECK(workload.sequence == 32);
  CHECK(!workload.tile);
  CHECK(workload.boundary == Bytes{});  // inference hands nothing on

  CHECK(problem.system.chips == 8);
  CHECK(problem.system.accelerator.cores == 16);
  CHECK(problem.system.accelerator.lanes == 16);
  CHECK(problem.system.accelerator.stages == 8);
  CHECK(problem.system.accelerator.frequency == Hertz(1.5e9));
  CHECK(problem.system.accelerator.sram == Bytes(1048576.0));
  CHECK(problem.system.memory[0].bandwidth == BytesPerSecond(1e11));
  CHECK(problem.system.memory[0].capacity == Bytes(1e9));
  CHECK(problem.system.price.accelerator == Dollars(1000.0));
  CHECK(problem.system.power.link.at(0) == WattsPerBandwidth(0.0104 / 1e9));

  CHECK(problem.execution.style == Style::Dataflow);
  CHECK(problem.execution.partitions == 3);
  CHECK(problem.execution.overlap == Overlap::Perfect);
  CHECK(problem.execution.compute_utilization == 0.9);
  CHECK(problem.execution.pins.empty());
  CHECK(problem.equations.all_reduce_passes == 1);
  CHECK(problem.equations.virtual_stages == VirtualStages::LayersMinusOne);
  CHECK(config.search.gap == 0.001);
  CHECK(config.search.time_limit == Seconds(1200.0));
  CHECK(import_dfmodel(setup("r_execution"), "x").find("--threads 144") != std::string::npos);
}

TEST_CASE("all topologies, with degrees and strategies as far as they are given") {
  using enum Topology;
  struct Expected {
    const char* setup;
    std::vector<Topology> network;
    std::vector<std::int64_t> degrees;  // 0: searched
    std::string strategies;             // first letters, '-': searched
  };
  const std::vector<Expected> all = {
      {"training_flashattention", {}, {}, ""},
      {"r_execution", {Ring}, {8}, "t"},
      {"fc_no_overlap", {FullyConnected}, {0}, "-"},
      {"sw_compute_memory", {Switch}, {4}, "d"},
      {"r_r_miscellany", {Ring, Ring}, {8, 4}, "tp"},
      {"fc_fc_degrees_free", {FullyConnected, FullyConnected}, {0, 0}, "td"},
      {"r_fc_word_4", {Ring, FullyConnected}, {4, 4}, "td"},
      {"r_sw_pipeline", {Ring, Switch}, {8, 2}, "tp"},
      {"sw_sw_pins", {Switch, Switch}, {8, 2}, "td"},
      {"r_r_r_three_strategies", {Ring, Ring, Ring}, {4, 4, 4}, "tpd"},
      {"r_sw_sw", {Ring, Switch, Switch}, {4, 4, 2}, "tpd"},
      {"sw_sw_sw_training", {Switch, Switch, Switch}, {8, 4, 2}, "tpd"},
  };
  for (const Expected& expected : all) {
    INFO(expected.setup);
    const std::vector<NetworkDimension> network = imported(expected.setup).problem.system.network;
    REQUIRE(network.size() == expected.network.size());
    for (std::size_t d = 0; d < network.size(); ++d) {
      CHECK(network[d].topology == expected.network[d]);
      CHECK(network[d].degree.value_or(0) == expected.degrees[d]);
      CHECK((network[d].strategy ? name_of(*network[d].strategy)[0] : '-') ==
            expected.strategies[d]);
    }
  }
  const auto network = imported("r_r_r_three_strategies").problem.system.network;
  CHECK(network[0].bandwidth == BytesPerSecond(50e9));
  CHECK(network[1].bandwidth == BytesPerSecond(40e9));
  CHECK(network[2].bandwidth == BytesPerSecond(30e9));
}

TEST_CASE("the message execution under its three names, with old and new fields") {
  struct Expected {
    const char* setup;
    Style style;
    Overlap overlap;
    int passes;
  };
  for (const Expected& expected : std::vector<Expected>{
           {"r_execution", Style::Dataflow, Overlap::Perfect, 1},
           {"fc_no_overlap", Style::Dataflow, Overlap::None, 2},
           {"sw_compute_memory", Style::Dataflow, Overlap::ComputeMemory, 2},
           {"r_r_miscellany", Style::Dataflow, Overlap::Perfect, 2},
           {"r_fc_word_4", Style::KernelByKernel, Overlap::None, 2},
           {"sw_sw_sw_training", Style::KernelByKernel, Overlap::None, 2},
           {"training_flashattention", Style::Dataflow, Overlap::Perfect, 2},
       }) {
    INFO(expected.setup);
    const Problem problem = imported(expected.setup).problem;
    CHECK(problem.execution.style == expected.style);
    CHECK(problem.execution.overlap == expected.overlap);
    CHECK(problem.equations.all_reduce_passes == expected.passes);
  }
  const Workload old = imported("sw_sw_sw_training").problem.workload;
  CHECK(old.global_batch == 16);
  CHECK(old.micro_batch == 2);
  CHECK(old.tile == 8);
  CHECK(imported("sw_sw_sw_training").problem.system.memory[0].bandwidth ==
        BytesPerSecond(2.039e12));
  CHECK(imported("sw_compute_memory").problem.workload.tile == 16);
  CHECK(imported("r_fc_word_4").problem.workload.word == Bytes(4.0));
}

TEST_CASE("pins of partitions and of shardings") {
  using Pins = std::vector<std::optional<std::int64_t>>;
  CHECK(imported("sw_sw_pins").problem.execution.pins == Pins{std::nullopt, 0, std::nullopt, 1, 2});
  using Loops = std::vector<std::optional<LoopPair>>;
  CHECK(imported("sharded").problem.sharding_pins ==
        Loops{Loop::None, Loop::M, Loop::M, Loop::K, Loop::None});
  // The all-reduce that sharding K brings is not one of the kernel's own.
  CHECK(!imported("sharded").problem.workload.graph.kernel(KernelId(3)).communication);
}

TEST_CASE("a training graph: operands by size and order, gradients, boundary") {
  const Workload workload = imported("training_with_update").problem.workload;
  const DataflowGraph& graph = workload.graph;
  CHECK(graph.has_backward());
  const auto operand = [&](std::size_t t) { return graph.tensor(TensorId(t)).operand; };
  CHECK(operand(1) == 1);  // Q to Score: both operands are of one size,
  CHECK(operand(2) == 2);  // Norm to Score: so order tells them apart
  CHECK(operand(3) == 2);  // Score to Value, by size
  CHECK(operand(4) == 1);  // Q to Value
  CHECK(graph.kernel(KernelId(6)).communication->type == CommunicationType::GradientAllReduce);
  CHECK(graph.kernel(KernelId(6)).tiled == Loop::K);
  CHECK(graph.kernel(KernelId(3)).memory == Bytes(512.5));
  // hidden * sequence * word = 64 * 32 * 2.
  CHECK(workload.boundary == Bytes(4096.0));
}

TEST_CASE("what kernels communicate by themselves, and streams") {
  const DataflowGraph own = imported("own_communication").problem.workload.graph;
  CHECK(own.kernel(KernelId(0)).communication ==
        Communication{.type = CommunicationType::PointToPoint, .bytes = Bytes(77.5)});
  CHECK(own.kernel(KernelId(2)).communication ==
        Communication{.type = CommunicationType::AllGather, .bytes = Bytes(1024.0)});
  CHECK(own.kernel(KernelId(4)).communication ==
        Communication{.type = CommunicationType::AllReduce, .bytes = Bytes(4096.0)});
  const Workload streams = imported("gemm_fft_llm").problem.workload;
  CHECK(streams.graph.kernel(KernelId(0)).repeat == 1);
  CHECK(streams.graph.kernel(KernelId(1)).repeat == 32);
  CHECK(streams.graph.kernel(KernelId(1)).skip_weight);
  CHECK(streams.layers == 1);
  CHECK(streams.global_batch == 1);
  CHECK(streams.sequence == 1);
}

TEST_CASE("graphs of the generators for DLRM, HPL and FFT become their kinds") {
  const auto starts = [](const std::string& name, const std::string& expected) {
    const std::string text = import_dfmodel(setup(name), name);
    const std::size_t at = text.find("workload:");
    CHECK(text.substr(at, expected.size()) == expected);
  };
  // 4 tables * 5 rows * 6 wide * 16 samples * 2 B = 3840 B.
  const std::string dlrm =
      "  mlp: 48\n  bottom: 2\n  top: 1\n  tables: 4\n  pooled_rows: 5\n  rows: 1000\n"
      "  embedding: 6\n  local_batch: 16\n  global_batch: 4096\n  word: 2 B\n"
      "  all_to_all: 3840 B\n  memory: 3840 B\n  copies: 1\n";
  starts("dlrm_training", "workload:\n  kind: dlrm_training\n" + dlrm);
  starts("dlrm_oldest", "workload:\n  kind: dlrm_training\n" + dlrm);
  starts("dlrm_inference", "workload:\n  kind: dlrm_inference\n  mlp: 48\n  bottom: 1\n  top: 2\n");
  starts("hpl",
         "workload:\n  kind: hpl\n  n: 1024\n  block: 64\n  iterations: 3\n  word: 2 B\n"
         "  copies: 1\nsystem:");
  // K = floor(4 log2(256) / log2(16) * 16) = 128.
  starts("fft",
         "workload:\n  kind: fft\n  length: 65536\n  radix: 16\n  word: 4 B\n"
         "  copies: 1\nsystem:");
}

TEST_CASE("latency of links and a second memory come along") {
  std::string text = replaced(setup("r_execution"), "freq: 1.5", "freq: 1.5 link_latency: 150");
  text = replaced(text, "dram_cap", "second_dram_bw: 0.5 second_dram_cap: 9 dram_cap");
  const Config config = imported_text(text);
  const Machine& system = config.problem.system;
  CHECK(system.network.front().latency.in_base_units() == doctest::Approx(150e-9));
  REQUIRE(system.second_memory() != nullptr);
  CHECK(system.memory[1].bandwidth == BytesPerSecond(0.5e9));
  CHECK(system.memory[1].capacity == Bytes(9.0));
}

TEST_CASE("embeddings that the chips cannot share in doubles are read exactly") {
  const Workload workload = imported("dlrm_on_three_chips").problem.workload;
  CHECK(workload.graph.kernels()[0].communication->bytes == Bytes(0.9));
  // Without the size in memory the last digit is lost.
  const std::string other =
      replaced(setup("dlrm_on_three_chips"), "memory_size: 0.9", "memory_size: 1");
  const Bytes bytes = imported_text(other).problem.workload.graph.kernels()[0].communication->bytes;
  CHECK(bytes != Bytes(0.9));
  CHECK(bytes.in_base_units() == doctest::Approx(0.9).epsilon(1e-15));
}

TEST_CASE("the longest FFT keeps its side, whose square is no double") {
  const Workload workload = imported("fft_longest").problem.workload;
  CHECK(workload.graph.kernels().front().m == (std::int64_t{1} << 27) - 1);
}

TEST_CASE("loops that a setup of a generator's graph shards are pinned") {
  const std::string forward = "tiling: NO_TILING }\n}\nkernels {\n  name: \"MLP_2\"";
  const std::string sharded = "sharding: K_SHARDING " + forward;
  const Config config = imported_text(replaced(setup("dlrm_training"), forward, sharded));
  REQUIRE(config.problem.sharding_pins.size() == 9);
  CHECK(config.problem.sharding_pins[0] == Loop::K);
  CHECK(!config.problem.sharding_pins[1]);
}

}  // namespace dfsearch
