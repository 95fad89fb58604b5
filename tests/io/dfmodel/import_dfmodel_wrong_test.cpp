// Setups that are wrong, or say what a config cannot: what is refused, and where.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "io/dfmodel/dfmodel_setups.hpp"

namespace dfsearch {
namespace {

using test::replaced;
using test::setup;

std::vector<std::string> messages_of(const std::string& text) {
  try {
    import_dfmodel(text, "setup.txt");
  } catch (const InputError& error) {
    return error.messages();
  }
  return {"accepted"};
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
  std::string from;
  std::string to;
  std::string marker;  ///< what the message points at
  std::string message;
};

/// Each a setup with one thing replaced.
void check_wrong(const std::string& base, const std::vector<Wrong>& all) {
  const std::string good = setup(base);
  for (const Wrong& wrong : all) {
    const std::string text = replaced(good, wrong.from, wrong.to);
    const std::string expected = place_of(text, wrong.marker) + wrong.message;
    const std::vector<std::string> messages = messages_of(text);
    INFO(base, ": ", wrong.from, " -> ", wrong.to, "\nexpected: ", expected,
         "\ngot:      ", messages.front());
    CHECK(std::any_of(messages.begin(), messages.end(),
                      [&](const std::string& message) { return message.starts_with(expected); }));
  }
}

}  // namespace

TEST_CASE("text that is no setup is refused where it is wrong") {
  check_wrong(
      "r_execution",
      {
          {"num_chip: 8", "num_chips: 8", "num_chips: 8",
           "num_chips: unknown field, did you mean 'num_chip'?"},
          {"  id: 2\n", "  id: 2\n  colour: 3\n", "colour", "colour: unknown field"},
          {"type: SIMD", "type: VECTOR", "VECTOR",
           "type: unknown value 'VECTOR', expected SYSTOLIC or SIMD"},
          {"tiling: N_TILING", "tiling: 9", "9 }", "tiling: unknown value"},
          {"M: 64", "M: sixty", "sixty", "Expected integer, got: sixty"},
          {"M: 64", "M: 6.5", "6.5", "Expected integer, got: 6.5"},
          {"M: 64", "M: 99999999999999999999", "99999999999999999999", "Integer out of range"},
          {"M: 64", "M: 64 M: 65", ": 65", "Non-repeated field \"M\""},
          {"dram_bw: 100.0", "dram_bw: fast", "fast", "Expected double"},
          {"name: \"In\"", "name: \"In", "\n  id: 1", "String literals cannot cross"},
          {"  r {", "  sw { x: 8 }\n  r {", "{ x: 8 link",
           "Field \"r\" is specified along with field \"sw\""},
      });
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
  check_wrong(
      "r_execution",
      {
          {"  id: 2\n", "", "kernels {\n  name: \"Up\"", "id: missing"},
          {"  name: \"Up\"\n", "", "kernels {\n  id: 2", "name: missing"},
          {"  id: 3\n", "  id: 2\n", "id: 2\n  config: -1\n  fwd_bwd: FWD\n  type: SIMD",
           "id: 2 stands twice"},
          {"\"Act\"", "\"Up\"", "name: \"Up\"\n  id: 3", "name: the name 'Up' stands twice"},
          {"\"Act\"", "\"A\\nct\"", "name: \"A\\nct\"",
           "name: expected a name without control characters"},
          {"\"Act\"", "\"A\\377ct\"", "name: \"A\\377ct\"",
           "name: expected a name without control characters, in UTF-8"},
          {"endIdx: 4", "endIdx: 44", "endIdx: 44", "endIdx: no kernel has the id 44"},
          {"startIdx: 2 ", "", "connections { endIdx: 3", "startIdx: missing"},
          {"startIdx: 2 endIdx: 3", "startIdx: 2 endIdx: 2", "endIdx: 2 id: 2",
           "endIdx: a kernel cannot feed itself"},
          {kBack, "connections { startIdx: 4 endIdx: 2 }\n", "connections { startIdx: 4 endIdx: 2",
           "connections: the kernels"},
          {"elementwise_input1 { outer: 1 M: 64 N: 32 output_tensor_size: 4096.0 "
           "tiling: N_TILING }",
           "", "kernels {\n  name: \"In\"", "kernels: the kernel 'In' has no variant"},
          {"outer: 1 M: 64 N", "outer: 1 N", "elementwise_input1 { outer: 1 N",
           "M: missing in elementwise_input1"},
          {"M: 64", "M: -64", "M: -64", "M: expected a whole number from 1"},
          {"outer: 1 M: 64 N", "outer: 1 M: 64 K: 4 N", "K: 4",
           "K: unknown field of elementwise_input1"},
          {"input_tensor_1_size: 4096.0", "input_tensor_1_size: 4100.0 skip_weight: true",
           "skip_weight: true", "skip_weight: unknown field of elementwise_input1_input2"},
          {"output_tensor_size: 4096.0", "output_tensor_size: 4100.0", "output_tensor_size: 4100.0",
           "output_tensor_size: expected outer * M * N * word = 4096, got 4100"},
          {"weight_tensor_size: 32768.0", "weight_tensor_size: -1.0", "weight_tensor_size: -1.0",
           "weight_tensor_size: expected a positive number, got -1"},
          {"tiling: N_TILING", "tiling: TILING_Placeholder", "tiling: TILING_Placeholder",
           "tiling: missing in elementwise_input1, expected OUTER_TILING"},
          {"config: -1", "config: 3", "config: 3",
           "config: expected -1 (not pinned) or a partition from 0 to 2, got 3"},
          {"  config: -1\n", "", "kernels {\n  name: \"In\"", "config: missing in kernels"},
      });
  check_wrong("training_with_update",
              {
                  {"startIdx: 10 endIdx: 70", "startIdx: 60 endIdx: 20", "endIdx: 20 id: 9",
                   "endIdx: a backward kernel cannot feed a forward one"},
                  {"input_tensor_2_size: 8192.0", "input_tensor_2_size: 1.0",
                   "connections { startIdx: 30", "connections: the tensor has 8192 bytes"},
              });
  check_wrong(
      "sharded",
      {
          {"sharding: K_SHARDING", "sharding: N_SHARDING", "sharding: N_SHARDING",
           "sharding: cannot be sharded on N, expected K or M"},
          {"topological_number: 1", "topological_number: 2", "topological_number: 2",
           "topological_number: expected 1"},
          {"buffer_depth: 5", "buffer_depth: 4", "buffer_depth: 4", "buffer_depth: expected 5"},
          {"endName: \"Add\"", "endName: \"Act\"", "endName: \"Act\"",
           "endName: expected 'Add', the kernel of that id, got 'Act'"},
      });
}

TEST_CASE("machines and executions that are none") {
  check_wrong(
      "r_execution",
      {
          {"x: 8", "x: 4", "r { x: 4", "r: the product of the degrees is 4, expected num_chip, 8"},
          {"link_bw_x: 50.0", "", "r { x: 8", "link_bw_x: missing in r"},
          {"link_bw_x: 50.0", "link_bw_x: 50.0 link_bw_y: 1.0", "link_bw_y: 1.0",
           "link_bw_y: unknown field of r"},
          {"\"TP\"", "\"XP\"", "par_x: \"XP\"", "par_x: unknown value 'XP', expected TP, PP or DP"},
          {"r { x: 8 link_bw_x: 50.0 par_x: \"TP\" }", "", "system {", "system: missing topology"},
          {"freq: 1.5", "", "accelerator {", "freq: missing in accelerator"},
          {"dram_bw: 100.0", "dram_bw: inf", "dram_bw: inf", "dram_bw: expected a positive number"},
          {"word: 2", "", "execution {", "word: missing in execution"},
          {"overlap: PERFECT_OVERLAP", "", "execution {",
           "overlap: missing in execution, expected PERFECT_OVERLAP, NO_OVERLAP"},
          {"overlap: PERFECT_OVERLAP", "overlap: NO_OVERLAP perfect_overlap: true",
           "perfect_overlap: true", "perfect_overlap: stands beside overlap"},
          {"gurobi {", "training { }\ngurobi {", "training {",
           "training: stands beside execution, expected one of them"},
          {"num_head: 4", "num_head: 5", "hidden_dim: 64",
           "hidden_dim: expected num_head * head_dim = 80, got 64"},
          {"gap: 0.001", "gap: 1.5", "gap: 1.5", "gap: expected a number up to 1"},
          {"compute_util: 0.9", "compute_util: 1.1", "compute_util: 1.1",
           "compute_util: expected a number up to 1"},
      });
  check_wrong("fc_fc_degrees_free",
              {
                  {"link_bw_x", "x: 3 link_bw_x", "fc_fc { x: 3",
                   "fc_fc: the product of the degrees is 3, expected a divisor of num_chip, 16"},
              });
  check_wrong(
      "sw_compute_memory",
      {
          {"global_batch_size: 8", "global_batch_size: 6", "global_batch_size: 6",
           "global_batch_size: expected a multiple of data degree * micro_batch_size = 4, got 6"},
          {"tile_size: 16", "tile_size: 64", "tile_size: 64",
           "tile_size: expected at most seq_len, 32"},
      });
  check_wrong("hpl",
              {
                  {"K: 896", "K: 897", "kernels {\n  name: \"Iteration_3\"",
                   "kernels: cannot be expressed: not the graph of DFModel's generator for hpl"},
              });
  check_wrong("dlrm_oldest", {
                                 {"top_num_mlp: 1", "top_num_mlp: 2", "top_num_mlp: 2",
                                  "top_num_mlp: expected 1 as in the graph, got 2"},
                             });
  check_wrong("dlrm_training",
              {
                  {"startIdx: 4 endIdx: 8", "startIdx: 4 endIdx: 9",
                   "connections { startIdx: 4 endIdx: 9", "connections: cannot be expressed"},
              });
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
  for (const char* name :
       {"r_execution", "training_with_update", "dlrm_training", "hpl", "fft", "sharded"}) {
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

}  // namespace dfsearch
