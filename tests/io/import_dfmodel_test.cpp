#include "io/import_dfmodel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "io/export_dfmodel.hpp"
#include "io/load_config.hpp"
#include "io/names.hpp"
#include "io/read_file.hpp"

namespace dfsearch {
namespace {

// Tests run in the root of the project.
const std::filesystem::path kSetups = "tests/data/dfmodel";

std::string setup(const std::string& name) { return read_file(kSetups / (name + ".txt")); }

Config imported(const std::string& name) {
  return parse_config(import_dfmodel(setup(name), name), name);
}

std::vector<std::string> messages_of(const std::string& text) {
  try {
    import_dfmodel(text, "setup.txt");
  } catch (const InputError& error) {
    return error.messages();
  }
  return {"accepted"};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  return text.replace(at, from.size(), to);
}

/// "setup.txt:line:column: " of a marker in the text.
std::string place_of(const std::string& text, const std::string& marker) {
  const std::size_t at = text.find(marker);
  REQUIRE_MESSAGE(at != std::string::npos, marker);
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const std::size_t start = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  return "setup.txt:" + std::to_string(line + 1) + ":" + std::to_string(at - start + 1) + ": ";
}

struct Wrong {
  std::string base;  ///< the setup
  std::string from;
  std::string to;
  std::string marker;  ///< what the message points at
  std::string message;
};

void check_wrong(const Wrong& wrong) {
  const std::string text = replaced(setup(wrong.base), wrong.from, wrong.to);
  const std::string expected = place_of(text, wrong.marker) + wrong.message;
  const std::vector<std::string> messages = messages_of(text);
  INFO(wrong.base, ": ", wrong.from, " -> ", wrong.to, "\nexpected: ", expected,
       "\ngot:      ", messages.front());
  CHECK(std::any_of(messages.begin(), messages.end(),
                    [&](const std::string& message) { return message.starts_with(expected); }));
}

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
  CHECK(problem.system.memory.bandwidth == BytesPerSecond(1e11));
  CHECK(problem.system.memory.capacity == Bytes(1e9));
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
  CHECK(imported("sw_sw_sw_training").problem.system.memory.bandwidth == BytesPerSecond(2.039e12));
  CHECK(imported("sw_compute_memory").problem.workload.tile == 16);
  CHECK(imported("r_fc_word_4").problem.workload.word == Bytes(4.0));
}

TEST_CASE("pins of partitions and of shardings") {
  using Pins = std::vector<std::optional<std::int64_t>>;
  CHECK(imported("sw_sw_pins").problem.execution.pins == Pins{std::nullopt, 0, std::nullopt, 1, 2});
  using Loops = std::vector<std::optional<Loop>>;
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

TEST_CASE("text that is no setup is refused where it is wrong") {
  for (const Wrong& wrong : std::vector<Wrong>{
           {"r_execution", "num_chip: 8", "num_chips: 8", "num_chips: 8",
            "num_chips: unknown field, did you mean 'num_chip'?"},
           {"r_execution", "  id: 2\n", "  id: 2\n  colour: 3\n", "colour",
            "colour: unknown field"},
           {"r_execution", "type: SIMD", "type: VECTOR", "VECTOR",
            "type: unknown value 'VECTOR', expected SYSTOLIC or SIMD"},
           {"r_execution", "tiling: N_TILING", "tiling: 9", "9 }", "tiling: unknown value"},
           {"r_execution", "M: 64", "M: sixty", "sixty", "Expected integer, got: sixty"},
           {"r_execution", "M: 64", "M: 6.5", "6.5", "Expected integer, got: 6.5"},
           {"r_execution", "M: 64", "M: 99999999999999999999", "99999999999999999999",
            "Integer out of range"},
           {"r_execution", "M: 64", "M: 64 M: 65", ": 65", "Non-repeated field \"M\""},
           {"r_execution", "dram_bw: 100.0", "dram_bw: fast", "fast", "Expected double"},
           {"r_execution", "name: \"In\"", "name: \"In", "\n  id: 1",
            "String literals cannot cross"},
           {"r_execution", "  r {", "  sw { x: 8 }\n  r {", "{ x: 8 link",
            "Field \"r\" is specified along with field \"sw\""},
       }) {
    check_wrong(wrong);
  }
}

TEST_CASE("a truncated setup is refused at its end") {
  const std::string text = setup("r_execution");
  for (const char* until : {"Down", "num_chip", "link_bw_x", "gurobi {"}) {
    const std::string cut = text.substr(0, text.find(until) + 3);
    const std::vector<std::string> messages = messages_of(cut);
    INFO(until, ": ", messages.front());
    const auto lines = std::count(cut.begin(), cut.end(), '\n') + 1;
    CHECK(messages.front().starts_with("setup.txt:" + std::to_string(lines) + ":"));
  }
}

TEST_CASE("graphs that are none") {
  const char* kBack = "connections { startIdx: 1 endIdx: 5 id: 5 }\n";
  for (const Wrong& wrong : std::vector<Wrong>{
           {"r_execution", "  id: 2\n", "", "kernels {\n  name: \"Up\"", "id: missing"},
           {"r_execution", "  name: \"Up\"\n", "", "kernels {\n  id: 2", "name: missing"},
           {"r_execution", "  id: 3\n", "  id: 2\n",
            "id: 2\n  config: -1\n  fwd_bwd: FWD\n  type: SIMD", "id: 2 stands twice"},
           {"r_execution", "\"Act\"", "\"Up\"", "name: \"Up\"\n  id: 3",
            "name: the name 'Up' stands twice"},
           {"r_execution", "\"Act\"", "\"A\\nct\"", "name: \"A\\nct\"",
            "name: expected a name without control characters"},
           {"r_execution", "\"Act\"", "\"A\\377ct\"", "name: \"A\\377ct\"",
            "name: expected a name without control characters, in UTF-8"},
           {"r_execution", "endIdx: 4", "endIdx: 44", "endIdx: 44",
            "endIdx: no kernel has the id 44"},
           {"r_execution", "startIdx: 2 ", "", "connections { endIdx: 3", "startIdx: missing"},
           {"r_execution", "startIdx: 2 endIdx: 3", "startIdx: 2 endIdx: 2", "endIdx: 2 id: 2",
            "endIdx: a kernel cannot feed itself"},
           {"r_execution", kBack, "connections { startIdx: 4 endIdx: 2 }\n",
            "connections { startIdx: 4 endIdx: 2", "connections: the kernels"},
           {"training_with_update", "startIdx: 10 endIdx: 70", "startIdx: 60 endIdx: 20",
            "endIdx: 20 id: 9", "endIdx: a backward kernel cannot feed a forward one"},
           {"r_execution",
            "elementwise_input1 { outer: 1 M: 64 N: 32 output_tensor_size: 4096.0 "
            "tiling: N_TILING }",
            "", "kernels {\n  name: \"In\"", "kernels: the kernel 'In' has no variant"},
           {"r_execution", "outer: 1 M: 64 N", "outer: 1 N", "elementwise_input1 { outer: 1 N",
            "M: missing in elementwise_input1"},
           {"r_execution", "M: 64", "M: -64", "M: -64", "M: expected a whole number from 1"},
           {"r_execution", "outer: 1 M: 64 N", "outer: 1 M: 64 K: 4 N", "K: 4",
            "K: unknown field of elementwise_input1"},
           {"r_execution", "input_tensor_1_size: 4096.0",
            "input_tensor_1_size: 4100.0 skip_weight: true", "skip_weight: true",
            "skip_weight: unknown field of elementwise_input1_input2"},
           {"training_with_update", "input_tensor_2_size: 8192.0", "input_tensor_2_size: 1.0",
            "connections { startIdx: 30", "connections: the tensor has 8192 bytes"},
           {"r_execution", "output_tensor_size: 4096.0", "output_tensor_size: 4100.0",
            "output_tensor_size: 4100.0",
            "output_tensor_size: expected outer * M * N * word = 4096, got 4100"},
           {"r_execution", "weight_tensor_size: 32768.0", "weight_tensor_size: -1.0",
            "weight_tensor_size: -1.0", "weight_tensor_size: expected a positive number, got -1"},
           {"r_execution", "tiling: N_TILING", "tiling: TILING_Placeholder",
            "tiling: TILING_Placeholder",
            "tiling: missing in elementwise_input1, expected OUTER_TILING"},
           {"r_execution", "config: -1", "config: 3", "config: 3",
            "config: expected -1 (not pinned) or a partition from 0 to 2, got 3"},
           {"r_execution", "  config: -1\n", "", "kernels {\n  name: \"In\"",
            "config: missing in kernels"},
           {"sharded", "sharding: K_SHARDING", "sharding: N_SHARDING", "sharding: N_SHARDING",
            "sharding: cannot be sharded on N, expected K or M"},
           {"sharded", "topological_number: 1", "topological_number: 2", "topological_number: 2",
            "topological_number: expected 1"},
           {"sharded", "buffer_depth: 5", "buffer_depth: 4", "buffer_depth: 4",
            "buffer_depth: expected 5"},
           {"sharded", "endName: \"Add\"", "endName: \"Act\"", "endName: \"Act\"",
            "endName: expected 'Add', the kernel of that id, got 'Act'"},
       }) {
    check_wrong(wrong);
  }
}

TEST_CASE("machines and executions that are none") {
  for (const Wrong& wrong : std::vector<Wrong>{
           {"r_execution", "x: 8", "x: 4", "r { x: 4",
            "r: the product of the degrees is 4, expected num_chip, 8"},
           {"fc_fc_degrees_free", "link_bw_x", "x: 3 link_bw_x", "fc_fc { x: 3",
            "fc_fc: the product of the degrees is 3, expected a divisor of num_chip, 16"},
           {"r_execution", "link_bw_x: 50.0", "", "r { x: 8", "link_bw_x: missing in r"},
           {"r_execution", "link_bw_x: 50.0", "link_bw_x: 50.0 link_bw_y: 1.0", "link_bw_y: 1.0",
            "link_bw_y: unknown field of r"},
           {"r_execution", "\"TP\"", "\"XP\"", "par_x: \"XP\"",
            "par_x: unknown value 'XP', expected TP, PP or DP"},
           {"r_execution", "r { x: 8 link_bw_x: 50.0 par_x: \"TP\" }", "", "system {",
            "system: missing topology"},
           {"r_execution", "freq: 1.5", "", "accelerator {", "freq: missing in accelerator"},
           {"r_execution", "dram_bw: 100.0", "dram_bw: inf", "dram_bw: inf",
            "dram_bw: expected a positive number"},
           {"r_execution", "word: 2", "", "execution {", "word: missing in execution"},
           {"r_execution", "overlap: PERFECT_OVERLAP", "", "execution {",
            "overlap: missing in execution, expected PERFECT_OVERLAP, NO_OVERLAP"},
           {"r_execution", "overlap: PERFECT_OVERLAP", "overlap: NO_OVERLAP perfect_overlap: true",
            "perfect_overlap: true", "perfect_overlap: stands beside overlap"},
           {"r_execution", "gurobi {", "training { }\ngurobi {", "training {",
            "training: stands beside execution, expected one of them"},
           {"r_execution", "num_head: 4", "num_head: 5", "hidden_dim: 64",
            "hidden_dim: expected num_head * head_dim = 80, got 64"},
           {"sw_compute_memory", "global_batch_size: 8", "global_batch_size: 6",
            "global_batch_size: 6",
            "global_batch_size: expected a multiple of data degree * micro_batch_size = 4, got 6"},
           {"sw_compute_memory", "tile_size: 16", "tile_size: 64", "tile_size: 64",
            "tile_size: expected at most seq_len, 32"},
           {"r_execution", "gap: 0.001", "gap: 1.5", "gap: 1.5", "gap: expected a number up to 1"},
           {"r_execution", "compute_util: 0.9", "compute_util: 1.1", "compute_util: 1.1",
            "compute_util: expected a number up to 1"},
           {"hpl", "K: 896", "K: 897", "kernels {\n  name: \"Iteration_3\"",
            "kernels: cannot be expressed: not the graph of DFModel's generator for hpl"},
           {"dlrm_oldest", "top_num_mlp: 1", "top_num_mlp: 2", "top_num_mlp: 2",
            "top_num_mlp: expected 1 as in the graph, got 2"},
           {"dlrm_training", "startIdx: 4 endIdx: 8", "startIdx: 4 endIdx: 9",
            "connections { startIdx: 4 endIdx: 9", "connections: cannot be expressed"},
       }) {
    check_wrong(wrong);
  }
}

TEST_CASE("latency of links and a second memory come along") {
  std::string text = replaced(setup("r_execution"), "freq: 1.5", "freq: 1.5 link_latency: 150");
  text = replaced(text, "dram_cap", "second_dram_bw: 0.5 second_dram_cap: 9 dram_cap");
  const Config config = parse_config(import_dfmodel(text, "setup"), "setup");
  const System& system = config.problem.system;
  CHECK(system.network.front().latency.in_base_units() == doctest::Approx(150e-9));
  REQUIRE(system.memory.second.has_value());
  CHECK(system.memory.second->bandwidth == BytesPerSecond(0.5e9));
  CHECK(system.memory.second->capacity == Bytes(9.0));
  const Config again = parse_config(import_dfmodel(export_dfmodel(config, "setup"), "setup"), "a");
  CHECK(again.problem.system.network.front().latency == system.network.front().latency);
  CHECK(again.problem.system.memory.second->capacity == Bytes(9.0));
}

TEST_CASE("what dfsearch has no word for is refused by name") {
  const auto field = [](const char* base, const char* from, const char* to, const char* marker) {
    const std::string name = std::string(marker).substr(0, std::string(marker).find(':'));
    const std::string text = replaced(setup(base), from, to);
    const std::string expected = place_of(text, marker) + name + ": cannot be expressed: ";
    const std::vector<std::string> messages = messages_of(text);
    INFO(expected, "\n", messages.front());
    CHECK(messages.front().starts_with(expected));
  };
  field("r_execution", "num_chip: 8", "num_chip: 8 HBD: 4", "HBD: 4");
  field("r_execution", "freq: 1.5", "freq: 1.5 pmu: 16", "pmu: 16");
  field("sw_sw_sw_training", "net_bw_dse: False", "net_bw_dse: True", "net_bw_dse: True");
  field("sw_sw_sw_training", "objective: PERFORMANCE", "objective: COST", "objective: COST");
  field("sw_sw_sw_training", "skip_inter_chip: False", "skip_inter_chip: True",
        "skip_inter_chip: True");
  field("r_execution", "num_layer_in_graph: 1", "num_layer_in_graph: 2", "num_layer_in_graph: 2");
  field("r_execution", "endIdx: 3", "endIdx: 3 zero_out: true", "zero_out: true");
  field("r_execution", "outer: 1", "outer: 1 sram_extra: 5", "sram_extra: 5");
  field("r_execution", "outer: 1", "outer: 1 shard_N: 5", "shard_N: 5");
  field("r_execution", "outer: 1", "outer: 1 num_input: 1", "num_input: 1");
  field("r_execution", "outer: 1", "outer: 1 communication_type: BROADCAST",
        "communication_type: BROADCAST");
  field("r_execution", "outer: 1", "outer: 1 communication_type_2: ALL_REDUCE",
        "communication_type_2: ALL_REDUCE");
  field("r_execution", "endIdx: 3", "endIdx: 3 communication_type: ALL_GATHER",
        "communication_type: ALL_GATHER");
  field("gemm_fft_llm", "hidden: 32", "hidden: 32 effective_stage: 3", "effective_stage: 3");
  // Zero is as good as not given.
  CHECK(messages_of(replaced(setup("r_execution"), "num_chip: 8", "num_chip: 8 HBD: 0")).front() ==
        "accepted");
}

TEST_CASE("all that is wrong is reported at once, in the order of the text") {
  std::string text = setup("r_execution");
  text = replaced(text, "outer: 1", "outer: 1 sram_extra: 5");
  text = replaced(text, "link_bw_x: 50.0", "");
  text = replaced(text, "word: 2", "");
  // Only the first: without the word no size can be checked.
  const std::vector<std::string> messages = messages_of(text);
  std::string all;
  for (const std::string& message : messages) all += message + "\n";
  INFO(all);
  CHECK(messages[0].find("sram_extra") != std::string::npos);
  CHECK(all.find("link_bw_x: missing") != std::string::npos);
  CHECK(all.find("word: missing") != std::string::npos);
}

TEST_CASE("no damage to a setup does more than give a message") {
  constexpr unsigned kSeed = 1;
  std::mt19937 random(kSeed);
  const auto draw = [&](std::size_t count) { return random() % count; };
  for (const char* name : {"r_execution", "training_with_update", "dlrm_training", "sharded"}) {
    const std::string text = setup(name);
    for (int round = 0; round < 150; ++round) {
      std::string damaged = text;
      for (std::size_t i = 0; i <= draw(3); ++i) {
        const std::size_t at = draw(damaged.size());
        const std::size_t kind = draw(3);
        if (kind == 0) damaged.erase(at, 1 + draw(40));
        if (kind == 1) damaged[at] = static_cast<char>(draw(256));
        if (kind == 2) damaged.insert(at, text.substr(draw(text.size()), draw(30)));
      }
      INFO("seed ", kSeed, ", ", name, ", round ", round);
      for (const std::string& message : messages_of(damaged)) {
        CHECK((message == "accepted" || message.starts_with("setup.txt:") ||
               message.starts_with("... and")));
      }
    }
  }
}

TEST_CASE("an exported setup reads back to the same problem") {
  for (const auto& entry : std::filesystem::directory_iterator(kSetups)) {
    const std::string name = entry.path().stem().string();
    if (name.starts_with("dlrm") || name == "hpl" || name == "fft") continue;
    INFO(name);
    const Config first = imported(name);
    const std::string text = export_dfmodel(first, name);
    const Config again = parse_config(import_dfmodel(text, name), name);
    const Problem& a = first.problem;
    const Problem& b = again.problem;
    CHECK(a.workload.graph == b.workload.graph);
    CHECK(a.workload.layers == b.workload.layers);
    CHECK(a.workload.global_batch == b.workload.global_batch);
    CHECK(a.workload.micro_batch == b.workload.micro_batch);
    CHECK(a.workload.tile == b.workload.tile);
    CHECK(a.workload.word == b.workload.word);
    CHECK(a.workload.boundary == b.workload.boundary);
    CHECK(a.execution.pins == b.execution.pins);
    CHECK(a.sharding_pins == b.sharding_pins);
    CHECK(a.equations.all_reduce_passes == b.equations.all_reduce_passes);
    CHECK(first.search.gap == again.search.gap);
    // Once more changes nothing, so nothing else was lost either.
    CHECK(export_dfmodel(again, name) == text);
  }
}

TEST_CASE("what DFModel has no field for is refused by key") {
  const auto refused = [](const std::string& key, auto change) {
    Config config = imported("r_r_miscellany");
    change(config);
    try {
      export_dfmodel(config, "c.yaml");
      FAIL("accepted: ", key);
    } catch (const InputError& error) {
      CHECK(error.messages().front().starts_with("c.yaml: " + key +
                                                 ": cannot be expressed for DFModel: "));
    }
  };
  refused("equations", [](Config& c) { c.problem.equations = Equations::physical(); });
  refused("parallelism", [](Config& c) { c.problem.parallelism[0].most = 8; });
  refused("search.sharding", [](Config& c) { c.problem.sharding = ShardingChoice::Joint; });
  refused("price.link", [](Config& c) { c.problem.system.price.link[1] = {}; });
  refused("search.time_limit", [](Config& c) { c.search.time_limit = Seconds(0.5); });
  refused("workload.word", [](Config& c) { c.problem.workload.word = Bytes(0.5); });
  refused("workload.boundary", [](Config& c) { c.problem.workload.boundary = Bytes(64.0); });
  refused("system.network",
          [](Config& c) { c.problem.system.network[0].topology = Topology::Switch; });
  refused("workload.tensors", [](Config& c) {
    const DataflowGraph& graph = c.problem.workload.graph;
    std::vector<Tensor> tensors = graph.tensors();
    std::swap(tensors[3].operand, tensors[4].operand);
    c.problem.workload.graph = DataflowGraph(graph.kernels(), tensors);
  });
}

}  // namespace dfsearch
