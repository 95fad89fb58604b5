// Configs with `equations: calculon`: what they say, and every way to get them wrong.

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "io/config/config_messages.hpp"
#include "support/calculon_worlds.hpp"

namespace dfsearch {
namespace {

constexpr const char* kGood = R"(workload:
  kind: llm_training
  hidden: 64
  mlp: 256
  sequence: 32
  heads: 4
  head_dim: 16
  layers: 12
system:
  chips: 16
  matrix: {peak: 100 TFLOP/s, efficiency: [[1 GFLOP, 0.9], [0 FLOP, 0.1]]}
  vector: {peak: 10 TFLOP/s, efficiency: [[0 FLOP, 0.5]]}
  memory:
    capacity: 80 GiB
    bandwidth: 2 TB/s
    efficiency: [[100 MB, 0.9], [0 B, 0.3]]
    second: {capacity: 1 TB, bandwidth: 32 GB/s, efficiency: [[0 B, 0.9]]}
  networks:
    - {size: 8, filled: yes, bandwidth: 300 GB/s, efficiency: 0.65, all_reduce: [2, -1]}
    - {size: 1024, bandwidth: 25 GB/s, latency: 20 us, processor_usage: 0.02}
equations: calculon
calculon:
  global_batch: 64
)";

std::string message(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    parse_any_config(text, "c.yaml", overrides);
    return "accepted";
  } catch (const InputError& error) {
    return test::joined(error.messages());
  }
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos) throw std::logic_error("the good config has no " + what);
  return text.replace(at, what.size(), by);
}

calculon::Task task_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return std::get<CalculonConfig>(parse_any_config(text, "c.yaml", overrides)).task;
}

template <class Work>
void check_same(const EfficiencyCurve<Work>& a, const EfficiencyCurve<Work>& b) {
  REQUIRE(a.steps.size() == b.steps.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    CHECK(a.steps[i].from == b.steps[i].from);
    CHECK(a.steps[i].share == b.steps[i].share);
  }
}

void check_same(const MemoryTier& a, const MemoryTier& b) {
  CHECK(a.capacity == b.capacity);
  CHECK(a.bandwidth == b.bandwidth);
  check_same(a.efficiency, b.efficiency);
}

void check_same(const NetworkDimension& a, const NetworkDimension& b) {
  CHECK(a.degree == b.degree);
  CHECK(a.measured->filled == b.measured->filled);
  CHECK(a.bandwidth == b.bandwidth);
  CHECK(a.measured->efficiency == b.measured->efficiency);
  CHECK(a.latency == b.latency);
  CHECK(a.measured->processor_usage == b.measured->processor_usage);
  for (std::size_t i = 0; i < a.measured->operations.size(); ++i) {
    CHECK(a.measured->operations[i].factor == b.measured->operations[i].factor);
    CHECK(a.measured->operations[i].offset == b.measured->operations[i].offset);
  }
}

TEST_CASE("the shipped systems are those of the published runs") {
  for (const auto& [name, file] : {std::pair('A', "systems/calculon_a100_80g.yaml"),
                                   std::pair('H', "systems/calculon_h100_80g.yaml")}) {
    CAPTURE(file);
    const auto any =
        load_any_config("configs/calculon_1t.yaml", {std::string("system.from=") + file});
    const Machine& machine = std::get<CalculonConfig>(any).task.machine;
    const Machine known = test::calculon_machine(name, 1024);
    CHECK(machine.chips == 1024);
    CHECK(machine.matrix.peak == known.matrix.peak);
    CHECK(machine.vector.peak == known.vector.peak);
    check_same(machine.matrix.efficiency, known.matrix.efficiency);
    check_same(machine.vector.efficiency, known.vector.efficiency);
    check_same(machine.memory[0], known.memory[0]);
    check_same(machine.memory.at(1), known.memory.at(1));
    REQUIRE(machine.network.size() == known.network.size());
    for (std::size_t i = 0; i < known.network.size(); ++i) {
      check_same(machine.network[i], known.network[i]);
    }
  }
}

TEST_CASE("all decisions are read") {
  const std::string all = std::string(kGood) + R"(  maximum_batch: 100
  tensor: 2
  pipeline: 4
  data: 2
  networks: [0, 1, 1]
  micro_batch: 4
  chunks: 3
  recompute: attn
  communication: rs
  overlap: pipe
  redo: yes
  data_overlap: true
  fused: no
  sharding: yes
  offload: [weights, optimizer]
)";
  const calculon::ExecutionChoices choices = task_of(all).choices;
  CHECK(choices.tensor == 2);
  CHECK(choices.pipeline == 4);
  CHECK(choices.data == 2);
  CHECK(choices.networks == std::array<std::size_t, 3>{0, 1, 1});
  CHECK(choices.global_batch == 64);
  CHECK(choices.maximum_batch == 100);
  CHECK(choices.micro_batch == 4);
  CHECK(choices.chunks == 3);
  CHECK(choices.recompute == calculon::Recompute::Attention);
  CHECK(choices.communication == calculon::Communication::ReduceScatter);
  CHECK(choices.overlap == calculon::Overlap::Pipe);
  CHECK(choices.redo == true);
  CHECK(choices.data_overlap == true);
  CHECK(choices.fused == false);
  CHECK(choices.sharding == true);
  CHECK(choices.offload == Offload{.weights = true, .optimizer = true});
}

TEST_CASE("what is left out is open, and none is the same as an empty list") {
  const calculon::ExecutionChoices open = task_of(kGood).choices;
  CHECK_FALSE(open.tensor.has_value());
  CHECK_FALSE(open.offload.has_value());
  CHECK_FALSE(open.redo.has_value());
  CHECK(open.fused);
  for (const char* none : {"calculon.offload=none", "calculon.offload=[]"}) {
    CHECK(task_of(kGood, {none}).choices.offload == Offload{});
  }
  CHECK_FALSE(task_of(kGood, {"system.memory.second=null"}).machine.second_memory() != nullptr);
  CHECK(task_of(kGood, {"equations={preset: calculon}"}).machine.chips == 16);
}

TEST_CASE("wrong values") {
  REQUIRE(message(kGood) == "accepted");
  struct Case {
    const char* what;
    const char* by;
    const char* message;
  };
  const std::vector<Case> cases = {
      {"kind: llm_training", "kind: llm_decode",
       "c.yaml:2:9: kind: expected llm_training or llm_prefill, got 'llm_decode'"},
      {"  mlp: 256\n", "", "c.yaml:1:1: workload: missing key 'mlp'"},
      {"layers: 12", "layers: 12\n  word: 2 B",
       "c.yaml:9:3: workload: unknown key 'word', expected kind, hidden, mlp, sequence, heads, "
       "head_dim or layers"},
      {"[[1 GFLOP, 0.9], [0 FLOP, 0.1]]", "0.9",
       "c.yaml:11:43: efficiency: expected a list of pairs of an amount and a share, got '0.9'"},
      {"[[1 GFLOP, 0.9], [0 FLOP, 0.1]]", "[]",
       "c.yaml:11:43: efficiency: expected at least one step, got none"},
      {"[0 FLOP, 0.1]", "[0 FLOP, 0.1, 2]",
       "c.yaml:11:60: efficiency: expected a pair of an amount and a share, got a list"},
      {"[0 FLOP, 0.1]", "[2 GFLOP, 0.1]",
       "c.yaml:11:60: efficiency: expected amounts that fall, got 2 GFLOP after 1 GFLOP"},
      {"[0 FLOP, 0.1]", "[2 MFLOP, 0.1]",
       "c.yaml:11:60: efficiency: expected 0 as the last amount, got 2 MFLOP"},
      {"[0 FLOP, 0.1]", "[0 FLOP, 1.1]",
       "c.yaml:11:69: efficiency: expected a number from 1e-09 to 1, got '1.1'"},
      {"[0 FLOP, 0.1]", "[0 FLOP, 0]",
       "c.yaml:11:69: efficiency: expected a number from 1e-09 to 1, got '0'"},
      {"[0 FLOP, 0.1]", "[0 B, 0.1]",
       "c.yaml:11:61: efficiency: expected a quantity like '128 GFLOP', got '0 B': the unit 'B' is "
       "not one of FLOP, kFLOP, MFLOP, GFLOP, TFLOP, PFLOP"},
      {"100 TFLOP/s", "100 TFLOP",
       "c.yaml:11:18: peak: expected a quantity like '312 TFLOP/s', got '100 TFLOP': the unit "
       "'TFLOP' is not one of FLOP/s, kFLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, PFLOP/s"},
      {"  vector: {peak: 10 TFLOP/s, efficiency: [[0 FLOP, 0.5]]}\n", "",
       "c.yaml:9:1: system: missing key 'vector'"},
      {"second: {capacity: 1 TB, ", "second: {", "c.yaml:17:5: second: missing key 'capacity'"},
      {"filled: yes", "filled: maybe",
       "c.yaml:19:25: filled: expected yes, no, true or false, got 'maybe'"},
      {"size: 8, ", "", "c.yaml:19:7: networks: missing key 'size'"},
      {"[2, -1]", "2",
       "c.yaml:19:81: all_reduce: expected a pair of a factor and an offset, like [1.5, -1], got "
       "'2'"},
      {"[2, -1]", "[2, -2]",
       "c.yaml:19:85: all_reduce: expected a number from -1 to 1000000000, got '-2'"},
      {"processor_usage: 0.02", "processor_usage: 1",
       "c.yaml:20:73: processor_usage: expected a number from 0 to 0.99, got '1'"},
      {"  networks:\n", "  networks: []\n  other:\n",
       "c.yaml:18:13: networks: expected a list of 1 to 8 networks, got 0\n"
       "c.yaml:19:3: system: unknown key 'other', expected chips, matrix, vector, memory or "
       "networks"},
      {"equations: calculon", "equations: {preset: calculon, phases: halves}",
       "c.yaml:21:31: equations: unknown key 'phases', expected preset"},
      {"calculon:\n  global_batch: 64\n", "", "c.yaml:1:1: missing key 'calculon'"},
      {"calculon:\n  global_batch: 64\n", "calculon: {}\n",
       "c.yaml:22:1: calculon: missing key 'global_batch' or 'maximum_batch'"},
      {"calculon:\n  global_batch: 64\n", "calculon: 5\n",
       "c.yaml:22:11: calculon: expected a map, got '5'"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    CAPTURE(c.by);
    CHECK(message(replaced(kGood, c.what, c.by)) == c.message);
  }
}

TEST_CASE("a misspelt model is one of the others, and its name is suggested") {
  CHECK(message(replaced(kGood, "equations: calculon", "equations: calculo"))
            .find("c.yaml:21:12: equations: expected physical, published or calculon, got "
                  "'calculo', did you mean 'calculon'?") != std::string::npos);
}

TEST_CASE("decisions that are wrong or contradict each other") {
  struct Case {
    const char* lines;  // under `calculon`, from line 24 on
    const char* message;
  };
  const std::vector<Case> cases = {
      {"tensr: 2", "c.yaml:24:3: calculon: unknown key 'tensr', did you mean 'tensor'?"},
      {"tensor: 0", "c.yaml:24:11: tensor: expected a whole number from 1 to 2^40, got '0'"},
      {"networks: [0, 1]",
       "c.yaml:24:13: networks: expected the indices of three networks, of tensor, pipeline and "
       "data, got a list"},
      {"networks: [0, 1, 2]",
       "c.yaml:24:20: networks: expected a whole number from 0 to 1, got '2'"},
      {"recompute: some",
       "c.yaml:24:14: recompute: expected full, attn or none, got 'some', did you mean "
       "'none'?"},
      {"communication: no", "c.yaml:24:18: communication: expected ar, p2p or rs, got 'no'"},
      {"overlap: yes", "c.yaml:24:12: overlap: expected none, ring or pipe, got 'yes'"},
      {"redo: 1", "c.yaml:24:9: redo: expected yes, no, true or false, got '1'"},
      {"offload: yes",
       "c.yaml:24:12: offload: expected none or a list of weights, activations and optimizer, got "
       "'yes'"},
      {"offload: [weights, gradients]",
       "c.yaml:24:22: offload: expected weights, activations or optimizer, got 'gradients'"},
      {"offload: [weights, weights]", "c.yaml:24:22: offload: stands twice in the list"},
      {"tensor: 3",
       "c.yaml:24:11: tensor: expected degrees whose product divides the number of "
       "chips, 16"},
      {"tensor: 8", "c.yaml:24:11: tensor: expected a divisor of hidden, 64, and heads, 4, got 8"},
      {"tensor: 4\n  pipeline: 8",
       "c.yaml:24:11: tensor: expected degrees whose product divides the number of chips, 16"},
      {"tensor: 2\n  pipeline: 2\n  data: 2",
       "c.yaml:24:11: tensor: expected tensor * pipeline * data to be the number of chips, 16, "
       "got 8"},
      {"maximum_batch: 32",
       "c.yaml:23:17: global_batch: expected at most maximum_batch, 32, got 64"},
      {"micro_batch: 3",
       "c.yaml:24:16: micro_batch: expected a divisor of the 64 samples of a data rank, got 3"},
      {"chunks: 2\n  pipeline: 1",
       "c.yaml:24:11: chunks: expected 1, as there is one stage, got 2"},
      {"chunks: 2\n  pipeline: 4",
       "c.yaml:24:11: chunks: expected a divisor of the 3 blocks of a stage, got 2"},
      {"tensor: 1\n  overlap: ring",
       "c.yaml:25:12: overlap: expected none, as the tensor degree is 1"},
      {"data: 1\n  sharding: yes", "c.yaml:25:13: sharding: expected no, as the data degree is 1"},
      {"data: 1\n  data_overlap: yes",
       "c.yaml:25:17: data_overlap: expected no, as the data degree is 1"},
      {"redo: yes\n  recompute: full",
       "c.yaml:24:9: redo: expected no, as full recomputation gathers again anyway"},
      {"redo: yes\n  communication: ar",
       "c.yaml:24:9: redo: expected no, as only communication rs gathers"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.lines);
    CHECK(message(std::string(kGood) + "  " + c.lines + "\n") == c.message);
  }
  CHECK(message(kGood, {"calculon.global_batch=24", "calculon.data=16"}) ==
        "--set calculon.global_batch=24: global_batch: expected a multiple of the data degree, "
        "16, got 24");
  CHECK(message(kGood, {"calculon={maximum_batch: 8, data: 16}"}) ==
        "--set calculon={maximum_batch: 8, data: 16}: maximum_batch: expected at least the data "
        "degree, 16, got 8");
  CHECK(message(kGood, {"system.memory.second=null", "calculon.offload=[weights]"}) ==
        "--set calculon.offload=[weights]: offload: expected none, as the system has no second "
        "memory (memory.second)");
  CHECK(message(kGood, {"workload.sequence=31", "calculon.tensor=4", "calculon.micro_batch=2",
                        "calculon.communication=rs"}) ==
        "--set calculon.communication=rs: communication: expected ar, as the tensor degree, 4, "
        "does not divide micro_batch * sequence");
}

TEST_CASE("a prefill has no backward pass") {
  const auto prefill = [](const char* decision) {
    return message(kGood, {"workload.kind=llm_prefill", decision});
  };
  CHECK(prefill("calculon.fused=yes") == "accepted");
  CHECK(prefill("calculon.sharding=yes") == "accepted");
  CHECK(prefill("calculon.recompute=full") ==
        "--set calculon.recompute=full: recompute: expected none, as llm_prefill has no backward "
        "pass");
  CHECK(prefill("calculon.data_overlap=yes") ==
        "--set calculon.data_overlap=yes: data_overlap: expected no, as llm_prefill has no "
        "gradients");
  CHECK(prefill("calculon.offload=[optimizer]") ==
        "--set calculon.offload=[optimizer]: offload: expected no optimizer, as llm_prefill has "
        "none");
}

TEST_CASE("who wants a mapping or a graph does not get an execution") {
  CHECK(test::message_of(kGood) ==
        "c.yaml:21:12: equations: expected physical or published here, as calculon has no mapping "
        "and no graph: only solve, evaluate and check take it");
}

}  // namespace
}  // namespace dfsearch
