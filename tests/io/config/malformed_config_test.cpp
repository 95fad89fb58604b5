// Every way to get a value of a config wrong, with the message it must give.
//
// Two tables: one line of a good config replaced by a bad one, and whole texts.
// Messages are compared in full, so a place that moves or a word that changes
// shows.

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "io/config/config_messages.hpp"

namespace dfsearch {
namespace {

using test::kGood;
using test::kGoodGraph;
using test::message_of;

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos) throw std::logic_error("the good config has no " + what);
  return text.replace(at, what.size(), by);
}

/// A piece of the good config, its replacement, and the message.
struct Case {
  const char* what;
  const char* by;
  const char* message;
};

void check_cases(const char* good, const std::vector<Case>& cases) {
  REQUIRE(message_of(good) == "accepted");
  for (const Case& c : cases) {
    CAPTURE(c.what);
    CAPTURE(c.by);
    CHECK(message_of(replaced(good, c.what, c.by)) == c.message);
  }
}

TEST_CASE("LLM workloads") {
  check_cases(
      kGood,
      {
          {"kind: llm_training", "kind: llm_trainning",
           "c.yaml:2:9: kind: expected llm_training, llm_prefill, llm_decode, dlrm_training, "
           "dlrm_inference, hpl, fft, lstm or graph, got 'llm_trainning', did you mean "
           "'llm_training'?"},
          {"kind: llm_training", "kind: [a]",
           "c.yaml:2:9: kind: expected llm_training, llm_prefill, llm_decode, dlrm_training, "
           "dlrm_inference, hpl, fft, lstm or graph, got a list"},
          {"kind: llm_training\n", "layer: 3\n", "c.yaml:1:1: workload: missing key 'kind'"},
          {"hidden: 64", "hidden: 64\n  lora: {rank: 8}",
           "c.yaml:4:3: lora: expected none but beside 'training'"},
          {"hidden: 64", "hidden: 65",
           "c.yaml:3:11: hidden: expected heads * head_dim = 4 * 16 = 64, got 65"},
          {"hidden: 64", "hidden: 0",
           "c.yaml:3:11: hidden: expected a whole number from 1 to 2^40, got '0'"},
          {"hidden: 64", "hidden: -64",
           "c.yaml:3:11: hidden: expected a whole number from 1 to 2^40, got '-64'"},
          {"hidden: 64", "hidden: 64.5",
           "c.yaml:3:11: hidden: expected a whole number from 1 to 2^40, got '64.5'"},
          {"hidden: 64", "hidden: 6.4e1",
           "c.yaml:3:11: hidden: expected a whole number from 1 to 2^40, got '6.4e1'"},
          {"hidden: 64", "hidden: 064",
           "c.yaml:3:11: hidden: expected a whole number from 1 to 2^40, got '064'"},
          {"hidden: 64", "hidden: sixty",
           "c.yaml:3:11: hidden: expected a whole number from 1 to 2^40, got 'sixty'"},
          {"hidden: 64",
           "hidden:", "c.yaml:3:3: hidden: expected a whole number from 1 to 2^40, got nothing"},
          {"hidden: 64", "hidden: [64]",
           "c.yaml:3:11: hidden: expected a whole number from 1 to 2^40, got a list"},
          {"hidden: 64", "hidden: {a: 64}",
           "c.yaml:3:11: hidden: expected a whole number from 1 to 2^40, got a map"},
          {"hidden: 64", "hidden: 1099511627777",
           "c.yaml:3:11: hidden: expected a whole number from 1 to 2^40, got '1099511627777'"},
          {"hidden: 64", "hidden: 99999999999999999999999",
           "c.yaml:3:11: hidden: expected a whole number from 1 to 2^40, got "
           "'99999999999999999999999'"},
          {"hidden: 64", "hiddn: 64",
           "c.yaml:1:1: workload: missing key 'hidden'\nc.yaml:3:3: workload: unknown key 'hiddn', "
           "did you mean 'hidden'?"},
          {"hidden: 64", "hidden: 64\n  hidden: 64",
           "c.yaml:4:3: duplicate key 'hidden', first in line 3"},
          {"hidden: 64", "hidden: 64\n  context: 64",
           "c.yaml:4:3: workload: unknown key 'context', expected kind, word, sequence, tile, "
           "global_batch, micro_batch, family, fields, encoder_sequence, hidden, "
           "heads, head_dim, mlp, layers, "
           "repeat_layers, "
           "vocabulary, kv_heads, value_dim, gated, norm, bias, qk_norm, post_norm, positions, "
           "tied, "
           "window, full_attention_every, dropout, layer_vectors, end_vectors, experts, "
           "latent_attention, attention, mask or lora"},
          {"layers: 2", "layers: 2\n  repeat_layers: 3",
           "c.yaml:8:18: repeat_layers: expected a divisor of the layers, 2, got 3"},
          {"layers: 2", "layers: 2\n  repeat_layers: 2000",
           "c.yaml:8:18: repeat_layers: expected a whole number from 1 to 1024, got '2000'"},
          {"hidden: 64", "hidden: 64\n  mlp: 0",
           "c.yaml:4:8: mlp: expected a whole number from 1 to 2^40, got '0'"},
          {"kind: llm_training", "kind: llm_decode",
           "c.yaml:1:1: workload: missing key 'context'\nc.yaml:6:3: sequence: only a layer by "
           "rule has one, expected no such key"},
          {"heads: 4\n  head_dim: 16", "heads: 1099511627776\n  head_dim: 1099511627776",
           "c.yaml:3:11: hidden: expected heads * head_dim = 1099511627776 * 1099511627776 = "
           "1.2089258196146292e+24, got 64"},
          {"hidden: 64\n  heads: 4\n  head_dim: 16",
           "hidden: 1099511627776\n  heads: 1\n  head_dim: 1099511627776",
           "c.yaml:1:1: workload: kernel 'Q' is too large: 1 x 1099511627776 x 1099511627776 x 32 "
           "iterations, expected fewer than 2^62"},
          {"sequence: 32", "sequence: 32\n  tile: 33",
           "c.yaml:7:9: tile: expected at most the sequence, 32, got 33"},
          {"sequence: 32", "sequence: 32\n  tile: 0",
           "c.yaml:7:9: tile: expected a whole number from 1 to 2^40, got '0'"},
          {"sequence: 32", "sequence: 32\n  word: 2",
           "c.yaml:7:9: word: expected a quantity like '640 MiB', got '2'"},
          {"sequence: 32", "sequence: 32\n  word: 0 B",
           "c.yaml:7:9: word: expected a quantity from 0.125 B to 1.049 MB, got '0 B'"},
          {"sequence: 32", "sequence: 32\n  word: 2 MiB",
           "c.yaml:7:9: word: expected a quantity from 0.125 B to 1.049 MB, got '2 MiB'"},
          {"sequence: 32", "sequence: 32\n  word: 2 GB/s",
           "c.yaml:7:9: word: expected a quantity like '640 MiB', got '2 GB/s': the unit 'GB/s' is "
           "not one of B, kB, MB, GB, TB, PB, EB, KiB, MiB, GiB, TiB, PiB, EiB, bit"},
          {"global_batch: 8", "global_batch: 7",
           "c.yaml:8:17: global_batch: expected a multiple of the data degree, 2, got 7"},
          {"global_batch: 8", "global_batch: 8\n  micro_batch: 3",
           "c.yaml:8:17: global_batch: expected a multiple of data degree * micro_batch = 2 * 3, "
           "got 8"},
          {"global_batch: 8", "global_batch: 8\n  micro_batch: 8",
           "c.yaml:8:17: global_batch: expected a multiple of data degree * micro_batch = 2 * 8, "
           "got 8"},
          {"layers: 2", "layers: 1099511627776", "accepted"},
      });
}

TEST_CASE("systems") {
  check_cases(
      kGood,
      {
          {"  chips: 8\n", "", "c.yaml:9:1: system: missing key 'chips'"},
          {"chips: 8", "chips: 16",
           "c.yaml:14:5: network: the product of the degrees is 4 * 2 = 8, expected the number of "
           "chips, 16"},
          {"chips: 8", "chips: 1e3",
           "c.yaml:10:10: chips: expected a whole number from 1 to 2^40, got '1e3'"},
          {"cores: 4", "core: 4",
           "c.yaml:11:3: accelerator: missing key 'cores'\nc.yaml:11:17: accelerator: unknown key "
           "'core', did you mean 'cores'?"},
          {"cores: 4, ", "", "c.yaml:11:3: accelerator: missing key 'cores'"},
          {"cores: 4", "cores: 4, cores: 5",
           "c.yaml:11:27: duplicate key 'cores', first in line 11"},
          {"cores: 4, lanes: 2, stages: 2", "cores: 1099511627776, lanes: 1099511627776, stages: 1",
           "c.yaml:11:3: accelerator: 1099511627776 cores x 1099511627776 lanes x 1 stages are too "
           "many, expected fewer than 2^62"},
          {"{cores: 4, lanes: 2, stages: 2, frequency: 1 GHz, sram: 1 MB}", "SN30",
           "c.yaml:11:16: accelerator: expected a map, got 'SN30'"},
          {"1 GHz", "1", "c.yaml:11:59: frequency: expected a quantity like '1.25 GHz', got '1'"},
          {"1 GHz", "0 GHz",
           "c.yaml:11:59: frequency: expected a quantity from 1 Hz to 1 EHz, got '0 GHz'"},
          {"1 GHz", "inf GHz",
           "c.yaml:11:59: frequency: expected a quantity like '1.25 GHz', got 'inf GHz'"},
          {"1 MB", "1e400 B",
           "c.yaml:11:72: sram: expected a quantity like '640 MiB', got '1e400 B', which is out of "
           "range"},
          {"1 MB", "-1 MB",
           "c.yaml:11:72: sram: expected a quantity like '640 MiB', got '-1 MB', which is "
           "negative"},
          {"1 MB", "1 MB/s",
           "c.yaml:11:72: sram: expected a quantity like '640 MiB', got '1 MB/s': the unit 'MB/s' "
           "is not one of B, kB, MB, GB, TB, PB, EB, KiB, MiB, GiB, TiB, PiB, EiB, bit"},
          {"1 MB", "nan", "c.yaml:11:72: sram: expected a quantity like '640 MiB', got 'nan'"},
          {"1 MB", "{}", "c.yaml:11:72: sram: expected a quantity like '640 MiB', got 'a map'"},
          {"memory: {bandwidth: 1 GB/s}", "memory: {bandwidth: 900}",
           "c.yaml:12:23: bandwidth: expected a quantity like '900 GB/s', got '900'"},
          {"memory: {bandwidth: 1 GB/s}", "memory: {bandwidth: 1 GB/s, capacity: 0 B}",
           "c.yaml:12:41: capacity: expected a quantity from 1 B to 1000000 EB, got '0 B'"},
          {"memory: {bandwidth: 1 GB/s}",
           "memory:", "c.yaml:12:3: memory: expected a map, got nothing"},
          {"memory: {bandwidth: 1 GB/s}", "memory: {bandwidth: 1e-9 B/s}",
           "c.yaml:12:23: bandwidth: expected a quantity from 1 B/s to 1000000 EB/s, got '1e-9 "
           "B/s'"},
          {"{topology: ring, ", "{topology: torus, ",
           "c.yaml:14:18: topology: expected ring, fully_connected, switch, line, mesh or torus2d, "
           "got "
           "'torus', did you mean 'torus2d'?"},
          {"{topology: ring, ", "{topology: rign, ",
           "c.yaml:14:18: topology: expected ring, fully_connected, switch, line, mesh or torus2d, "
           "got "
           "'rign', did you mean 'ring'?"},
          {"{topology: ring, ", "{", "c.yaml:14:7: network: missing key 'topology'"},
          {"strategy: data", "strategy: expert",
           "c.yaml:15:64: strategy: expected tensor, pipeline or data, got 'expert'"},
          {"degree: 2", "degree: 3",
           "c.yaml:14:5: network: the product of the degrees is 4 * 3 = 12, expected the number of "
           "chips, 8"},
          {"degree: 2", "degree: 1099511627776",
           "c.yaml:14:5: network: the product of the degrees is 4 * 1099511627776 = 4398046511104, "
           "expected the number of chips, 8"},
          {"    - {topology: ring, degree: 2, bandwidth: 1 GB/s, strategy: data}\n", "    - 7\n",
           "c.yaml:15:7: network: expected a map, got '7'"},
          {"execution:", "price: {link: [1, 2, 3]}\nexecution:",
           "c.yaml:16:15: link: expected a number, or a list of one for each of the 2 dimensions "
           "of the network, got 3"},
          {"execution:", "price: {link: -1}\nexecution:",
           "c.yaml:16:15: link: expected a number from 0 to 1e+24, got '-1'"},
          {"execution:", "power: {link: [1, x]}\nexecution:",
           "c.yaml:16:19: link: expected a number, got 'x'"},
          {"execution:", "price: {swich: 1}\nexecution:",
           "c.yaml:16:9: price: unknown key 'swich', did you mean 'switch'?"},
          {"execution:", "price: {memory: 1 $}\nexecution:",
           "c.yaml:16:17: memory: expected a number, got '1 $'"},
      });
}

TEST_CASE("meshes, and rates of chips by their peak") {
  check_cases(
      kGood,
      {
          {"execution:", "price: {accelerator: -1}\nexecution:",
           "c.yaml:16:22: accelerator: expected a number from 0 to 1e+24, got '-1'"},
          {"execution:", "price: {accelerator: {polynomial: [1]}}\nexecution:",
           "c.yaml:16:9: accelerator: missing key 'of'"},
          {"execution:", "price: {accelerator: {of: tflops}}\nexecution:",
           "c.yaml:16:9: polynomial: expected either a polynomial or chips to fit one to"},
          {"execution:",
           "price: {accelerator: {of: tflops, chips: [[1, 2], [1, 3], [2, 4]]}}\n"
           "execution:",
           "c.yaml:16:42: chips: expected more different TFLOP/s than the degree, 2, got 2"},
          {"execution:", "power: {accelerator: {of: tflops, polynomial: [-1, 0]}}\nexecution:",
           "c.yaml:16:22: accelerator: the polynomial is -0.032 at 32 GFLOP/s, expected at least "
           "0"},
          {"{topology: ring, degree: 4", "{topology: mesh, width: 2, height: 2",
           "c.yaml:14:18: topology: only plans of training without a stack place roles on a mesh, "
           "expected ring, fully_connected or switch"},
          {"{topology: ring, ", "{topology: ring, width: 2, ",
           "c.yaml:14:24: width: only a mesh or torus2d has it, expected none"},
          {"{topology: ring, ", "{topology: torus2d, width: 2, ",
           "c.yaml:14:7: network: a mesh needs 'width' and 'height'"},
          {"{topology: ring, ", "{topology: torus2d, width: 2, height: 3, ",
           "c.yaml:14:56: degree: expected width * height = 6, got 4"},
      });
}

TEST_CASE("execution, sharding, equations and search") {
  check_cases(
      kGood,
      {
          {"execution: {partitions: 4}", "execution: {partitions: 0}",
           "c.yaml:16:25: partitions: expected a whole number from 1 to 1000000, got '0'"},
          {"execution: {partitions: 4}", "execution: {partitions: 1000001}",
           "c.yaml:16:25: partitions: expected a whole number from 1 to 1000000, got '1000001'"},
          {"{partitions: 4}", "{ovrlap: none}",
           "c.yaml:16:13: execution: unknown key 'ovrlap', did you mean 'overlap'?"},
          {"{partitions: 4}", "{overlap: sum}",
           "c.yaml:16:22: overlap: expected perfect, none or compute_memory, got 'sum'"},
          {"{partitions: 4}", "{style: kernel-by-kernel}",
           "c.yaml:16:20: style: expected dataflow or kernel_by_kernel, got 'kernel-by-kernel', "
           "did you mean 'kernel_by_kernel'?"},
          {"{partitions: 4}", "{compute_utilization: 0}",
           "c.yaml:16:34: compute_utilization: expected a number from 1e-09 to 1, got '0'"},
          {"{partitions: 4}", "{compute_utilization: 1.01}",
           "c.yaml:16:34: compute_utilization: expected a number from 1e-09 to 1, got '1.01'"},
          {"{partitions: 4}", "{compute_utilization: 90%}",
           "c.yaml:16:34: compute_utilization: expected a number, got '90%'"},
          {"{partitions: 4}", "{compute_utilization: .nan}",
           "c.yaml:16:34: compute_utilization: expected a number, got '.nan'"},
          {"{partitions: 4}", "{partitions: 4, pins: {QQ: 0}}",
           "c.yaml:16:35: pins: unknown kernel 'QQ', did you mean 'Q'?"},
          {"{partitions: 4}", "{partitions: 4, pins: {FNN0: 0}}",
           "c.yaml:16:35: pins: unknown kernel 'FNN0', did you mean 'FFN0'?"},
          {"{partitions: 4}", "{partitions: 4, pins: {Q: 4}}",
           "c.yaml:16:38: Q: expected a partition from 0 to 3, got 4"},
          {"{partitions: 4}", "{partitions: 4, pins: {Q: -1}}",
           "c.yaml:16:38: Q: expected a whole number from 0 to 2^40, got '-1'"},
          {"{partitions: 4}", "{partitions: 4, pins: [Q]}",
           "c.yaml:16:34: pins: expected a map from kernels, got a list"},
          {"{partitions: 4}", "{partitions: 4, pins: {Q: 0, Q: 1}}",
           "c.yaml:16:41: duplicate key 'Q', first in line 16"},
          {"{partitions: 4}", "{}\nsharding: {pins: {Nobody: K}}",
           "c.yaml:17:19: pins: unknown kernel 'Nobody'"},
          {"{partitions: 4}", "{}\nsharding: {pins: {PROJ_GEMM: k}}",
           "c.yaml:17:30: PROJ_GEMM: expected outer, M, K, N or none, got 'k'"},
          {"{partitions: 4}", "{}\nsharding: {pins: {PROJ_GEMM: N}}",
           "c.yaml:17:30: PROJ_GEMM: cannot be sharded on N, expected K or M"},
          {"{partitions: 4}", "{}\nsharding: {pins: {PROJ_GEMM: none}}",
           "c.yaml:17:30: PROJ_GEMM: cannot be sharded on none, expected K or M"},
          {"{partitions: 4}", "{}\nsharding: {pins: {PROJ_GEMM: outer}}",
           "c.yaml:17:30: PROJ_GEMM: cannot be sharded on outer, expected K or M"},
          {"{partitions: 4}", "{}\nsharding: {pins: {Q: M}}",
           "c.yaml:17:22: Q: cannot be sharded on M, expected outer"},
          {"{partitions: 4}", "{}\nsharding: {pin: {Q: M}}",
           "c.yaml:17:12: sharding: unknown key 'pin', did you mean 'pins'?"},
          {"{partitions: 4}", "{}\nequations: publishd",
           "c.yaml:17:12: equations: expected physical, published or calculon, got 'publishd', did "
           "you mean "
           "'published'?"},
          {"{partitions: 4}", "{}\nequations: [published]",
           "c.yaml:17:12: equations: expected a map, got a list"},
          {"{partitions: 4}", "{}\nequations: {all_reduce_passes: 3}",
           "c.yaml:17:32: all_reduce_passes: expected a whole number from 1 to 2, got '3'"},
          {"{partitions: 4}", "{}\nequations: {virtual_stages: 0}",
           "c.yaml:17:29: virtual_stages: expected a whole number from 1 to 2^40, got '0'"},
          {"{partitions: 4}", "{}\nequations: {virtual_stages: all}",
           "c.yaml:17:29: virtual_stages: expected layers, layers_minus_one or a number, got "
           "'all'"},
          {"{partitions: 4}", "{}\nequations: {all_to_all: ring}",
           "c.yaml:17:25: all_to_all: expected per_dimension or bisection, got 'ring'"},
          {"{partitions: 4}", "{}\nequations: {dlrm_gradient_bandwidth: 1}",
           "c.yaml:17:38: dlrm_gradient_bandwidth: expected a quantity like '900 GB/s', got '1'"},
          {"{partitions: 4}", "{}\nequations: {phase: halves}",
           "c.yaml:17:13: equations: unknown key 'phase', did you mean 'phases'?"},
          {"{partitions: 4}", "{}\nsearch: {sharding: jointly}",
           "c.yaml:17:20: sharding: expected least_bytes or joint, got 'jointly', did you mean "
           "'joint'?"},
          {"{partitions: 4}", "{}\nsearch: {objective: speed}",
           "c.yaml:17:21: objective: expected step_time, cost_efficiency, power_efficiency or "
           "bottleneck, got 'speed'"},
          {"{partitions: 4}", "{}\nsearch: {objective: cost_efficiency}",
           "c.yaml:17:21: objective: cost_efficiency needs prices, expected 'price: {accelerator: "
           "DOLLARS}', or --set price.accelerator=DOLLARS"},
          {"{partitions: 4}", "{}\nsearch: {objective: power_efficiency}",
           "c.yaml:17:21: objective: power_efficiency needs powers, expected 'power: {accelerator: "
           "WATTS}', or --set power.accelerator=WATTS"},
          {"{partitions: 4}", "{}\nsearch: {gap: -0.1}",
           "c.yaml:17:15: gap: expected a number from 0 to 1, got '-0.1'"},
          {"{partitions: 4}", "{}\nsearch: {time_limit: 20}",
           "c.yaml:17:22: time_limit: expected a quantity like '500 ms' or '20 min', got '20'"},
          {"{partitions: 4}", "{}\nsearch: {time_limit: 0 s}",
           "c.yaml:17:22: time_limit: expected a quantity from 1 ms to 1e+09 s, got '0 s'"},
          {"{partitions: 4}", "{}\nseach: {gap: 0}",
           "c.yaml:17:1: unknown key 'seach', did you mean 'search'?"},
      });
}

TEST_CASE("graphs") {
  check_cases(
      kGoodGraph,
      {
          {"name: A", "nam: A",
           "c.yaml:5:7: kernels: missing key 'name'\nc.yaml:5:8: kernels: unknown key 'nam', did "
           "you mean 'name'?"},
          {"name: A", "name: \"\"", "c.yaml:5:14: name: expected a word, got ''"},
          {"name: A", "name: \"A\\tB\"",
           "c.yaml:5:14: name: expected a name without control characters"},
          {"name: B", "name: A", "c.yaml:6:14: name: the name 'A' stands twice"},
          {"kind: weight_gemm", "kind: gem",
           "c.yaml:5:23: kind: expected weight_gemm, gemm, elementwise, elementwise2 or attention, "
           "got 'gem', did you mean 'gemm'?"},
          {"kind: elementwise", "kind: elementwise, K: 4",
           "c.yaml:6:39: K: an elementwise kernel has none, expected 1, got 4"},
          {"M: 4, K: 4", "m: 4, K: 4",
           "c.yaml:5:36: kernels: unknown key 'm', expected name, kind, mode, outer, M, K, N, "
           "tiled, phase, communication, memory, sharded_memory, repeat, steps, skip_weight, "
           "spread, attention, element_flops, math, matrices, parameters, tokens, coupled, "
           "weight_of, "
           "backward_of or partition"},
          {"M: 4, K: 4", "M: 0, K: 4",
           "c.yaml:5:39: M: expected a whole number from 1 to 2^40, got '0'"},
          {"M: 4, K: 4, N: 16", "M: 1048576, K: 1099511627776, N: 16",
           "c.yaml:5:7: kernels: kernel 'A' is too large: 1 x 1048576 x 1099511627776 x 16 "
           "iterations, repeated 1 times, expected fewer than 2^62"},
          {"M: 4, K: 4", "M: 4, K: 4, repeat: 1099511627776, outer: 65536",
           "c.yaml:5:7: kernels: kernel 'A' is too large: 65536 x 4 x 4 x 16 iterations, repeated "
           "1099511627776 times, expected fewer than 2^62"},
          {"M: 4, K: 4", "M: 4, K: 4, tokens: 17",
           "c.yaml:5:56: tokens: expected at most outer * N = 16, got 17"},
          {"M: 4, K: 4", "M: 4, K: 4, tiled: K, outer: 3, tokens: 13",
           "c.yaml:5:76: tokens: expected at most outer * K = 12, got 13"},
          {"kind: elementwise, M: 4", "kind: elementwise, M: 7",
           "c.yaml:8:7: tensors: B is given 4 x 16 elements, expected 7 x 16 (M x N)"},
          {"kind: elementwise, M: 4", "kind: weight_gemm, M: 4, K: 1024",
           "c.yaml:8:7: tensors: operand 1 of B has 4 x 16 elements, expected 1024 x 16 (K x N)"},
          {"kind: elementwise, M: 4", "kind: gemm, outer: 3, M: 5, K: 2",
           "c.yaml:8:7: tensors: operand 1 of B has 4 x 16 elements, expected 2 x 16 (K x N) or 5 "
           "x "
           "2 (M x K) for each of 3 or for several of them"},
          {"M: 4, K: 4", "M: 4, K: 4, tiled: L",
           "c.yaml:5:55: tiled: expected outer, M, K, N or none, got 'L'"},
          {"M: 4, K: 4", "M: 4, K: 4, mode: vector",
           "c.yaml:5:54: mode: expected systolic or simd, got 'vector'"},
          {"M: 4, K: 4", "M: 4, K: 4, skip_weight: yes",
           "c.yaml:5:61: skip_weight: expected true or false, got 'yes'"},
          {"M: 4, K: 4", "M: 4, K: 4, memory: 5",
           "c.yaml:5:56: memory: expected a quantity like '640 MiB', got '5'"},
          {"M: 4, K: 4", "M: 4, K: 4, partition: 2",
           "c.yaml:5:59: A: expected a partition from 0 to 1, got 2"},
          {"M: 4, K: 4", "M: 4, K: 4, communication: {type: all_reduce}",
           "c.yaml:5:48: communication: missing key 'bytes'"},
          {"M: 4, K: 4", "M: 4, K: 4, communication: {type: broadcast, bytes: 1 B}",
           "c.yaml:5:70: type: expected all_reduce, all_gather, point_to_point, "
           "gradient_all_reduce, flat_gradient_all_reduce, all_to_all, transpose, grid_broadcast "
           "or grid_point_to_point, got 'broadcast', did you mean 'grid_broadcast'?"},
          {"M: 4, K: 4", "M: 4, K: 4, communication: []",
           "c.yaml:5:63: communication: expected 1 to 2 values, got 0"},
          {"M: 4, K: 4", "M: 4, K: 4, communication: [{type: transpose}, all_reduce]",
           "c.yaml:5:64: communication: missing key 'bytes'\nc.yaml:5:83: communication: expected "
           "a map, got 'all_reduce'"},
          {"M: 4, K: 4", "M: 4, K: 4, spread: all",
           "c.yaml:5:56: spread: expected tensor, grid or machine, got 'all'"},
          {"sequence: 16", "sequence: 16\n  network: pipeline",
           "c.yaml:4:12: network: expected free, tensor or data, got 'pipeline'"},
          {"sequence: 16", "sequence: 16\n  serving: {tokens: 0}",
           "c.yaml:4:3: serving: missing key 'pass'\nc.yaml:4:21: tokens: expected a whole number "
           "from 1 to 2^40, got '0'"},
          {"M: 4, K: 4", "M: 4, K: 4, communication: {type: gradient_all_reduce, bytes: 1 B}",
           "c.yaml:5:91: bytes: a gradient_all_reduce is as large as the output of the kernel, "
           "expected no bytes"},
          {"M: 4, K: 4", "M: 4, K: 4, communication: all_reduce",
           "c.yaml:5:63: communication: expected a map, got 'all_reduce'"},
          {"M: 4, K: 4", "M: 4, K: 4, phase: backward",
           "c.yaml:7:3: tensors: A -> B: a backward kernel cannot feed a forward one"},
          {"to: B", "to: C", "c.yaml:8:21: to: unknown kernel 'C'"},
          {"from: A, ", "", "c.yaml:8:7: tensors: missing key 'from'"},
          {"to: B", "to: A", "c.yaml:7:3: tensors: A -> A: a kernel cannot feed itself"},
          {"{from: A, to: B}", "{from: A, to: B}\n    - {from: B, to: A}",
           "c.yaml:7:3: tensors: the kernels A, B form a cycle, expected an acyclic graph"},
          {"to: B", "to: B, operand: 3",
           "c.yaml:8:33: operand: expected a whole number from 1 to 2, got '3'"},
          {"to: B", "to: B, bytes: 1 B",
           "c.yaml:8:24: tensors: unknown key 'bytes', expected from, to, operand, value, rows, "
           "next_layer or next_step"},
          {"    - {from: A, to: B}\n", "    - A\n", "c.yaml:8:7: tensors: expected a map, got 'A'"},
          {"  tensors:\n    - {from: A, to: B}\n", "",
           "c.yaml:1:1: workload: missing key 'tensors'"},
          {"  kernels:\n    - {name: A, kind: weight_gemm, M: 4, K: 4, N: 16}\n    - {name: B, "
           "kind: elementwise, M: 4, N: 16}\n  tensors:\n    - {from: A, to: B}\n",
           "  kernels: []\n  tensors: []\n",
           "c.yaml:4:3: kernels: the list is empty, expected at least one"},
          {"  tensors:\n    - {from: A, to: B}\n", "  tensors: {A: B}\n",
           "c.yaml:7:12: tensors: expected a list, got a map"},
          {"sequence: 16", "sequence: 16\n  boundary: 5",
           "c.yaml:4:13: boundary: expected a quantity like '640 MiB', got '5'"},
          {"sequence: 16", "hidden: 16",
           "c.yaml:3:3: workload: unknown key 'hidden', expected kind, word, layers, "
           "global_batch, micro_batch, sequence, tile, boundary, copies, network, stored, "
           "out_of_core, serving, counts, kernels or tensors"},
          {"  sequence: 16\n", "  tile: 2\n",
           "c.yaml:3:9: tile: expected at most the sequence, 1, got 2"},
          {"sequence: 16", "sequence: 16\n  layers: 1099511627776\n  global_batch: 1099511627776",
           "accepted"},
          {"chips: 1", "chips: 2", "c.yaml:9:1: network: 2 chips need a network"},
      });
}

TEST_CASE("texts that are no config") {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"", "c.yaml: the file is empty, expected a config with a workload and a system"},
      {"# nothing\n", "c.yaml: the file is empty, expected a config with a workload and a system"},
      {"- 1\n- 2\n", "c.yaml:1:1: expected a map with a workload and a system, got a list"},
      {"42\n", "c.yaml:1:1: expected a map with a workload and a system, got '42'"},
      {"workload: {}\n",
       "c.yaml:1:1: workload: missing key 'kind'\nc.yaml:1:1: missing key 'system'"},
      {"a: [1\n", "c.yaml:2:1: YAML: end of sequence flow not found"},
      {"a: \"x\n", "c.yaml:1:4: YAML: the quote is never closed"},
      {"a: \"x\\\"", "c.yaml:1:8: YAML: illegal EOF in scalar"},
      {"a: 'it''s\n", "c.yaml:1:4: YAML: the quote is never closed"},
      {"\"a: 1\n", "c.yaml:1:1: YAML: the quote is never closed"},
      {"a: b: c\n", "c.yaml:1:5: YAML: illegal map value"},
      {"a:\n\t- b\n", "c.yaml:2:2: YAML: illegal block entry"},
      {"}\n", "c.yaml:1:1: YAML: illegal flow end"},
      {"a: *b\n", "c.yaml:1:4: YAML: the referenced anchor is not defined"},
      {"a: &b [1]\nc: *b\n",
       "c.yaml:2:4: an alias (*name) is not supported, expected the value itself"},
      {"a: !!int 1\n", "c.yaml:1:4: a tag (!name) is not supported"},
      {"a: 1\n---\nb: 2\n",
       "c.yaml:2:1: a second document starts here, expected the end of the text"},
      {"a: 1\n...\nb: 2\n",
       "c.yaml:3:1: a second document starts here, expected the end of the text"},
      {"? [a]\n: 1\n", "c.yaml:1:3: expected a word as key, got a list"},
      {": 1\n", "c.yaml:1:1: expected a word as key, got nothing"},
      {"a: 1\na: 2\n", "c.yaml:2:1: duplicate key 'a', first in line 1"},
      {"%YAML 3.0\n---\na: 1\n", "c.yaml:1:1: YAML: YAML major version too large"},
      {"a: @b\n", "c.yaml:1:4: YAML: unknown token"},
      {"a: \"\\q\"\n", "c.yaml:1:7: YAML: unknown escape character: q"},
  };
  for (const auto& [text, message] : cases) {
    CAPTURE(text);
    CHECK(message_of(text) == message);
  }
}

TEST_CASE("bytes that are no text") {
  using namespace std::string_literals;
  CHECK(message_of("workload:\n  ki\0nd: x\n"s) ==
        "c.yaml:2:5: expected UTF-8 text, got the byte 0x00");
  CHECK(message_of("a: \xff\xfe\n"s) == "c.yaml:1:4: expected UTF-8 text, got the byte 0xff");
  CHECK(message_of("a: 1\x04\n"s) == "c.yaml:1:5: expected UTF-8 text, got the byte 0x04");
  CHECK(message_of("\x7f"
                   "ELF\x02\x01\x01\0"s) == "c.yaml:1:1: expected UTF-8 text, got the byte 0x7f");
  CHECK(message_of("\xff\xfe"
                   "a\0"s) == "c.yaml:1:1: expected UTF-8 text, got the byte 0xff");
  CHECK(message_of("a: \xc3\xa9\x1b[31m\n"s) ==
        "c.yaml:1:5: expected UTF-8 text, got the byte 0x1b");
}

TEST_CASE("everything wrong is reported at once, in the order of the file") {
  CHECK(message_of(R"(system:
  chips: 0
  memory: {bandwidth: 900, capcity: 1 GB}
  accelerator: {cores: 4, lanes: two, stages: 2, frequency: 1 GHz, sram: 1 MB}
workload:
  kind: llm_training
  hidden: -1
execution: {ovrlap: none}
)") == R"(c.yaml:2:10: chips: expected a whole number from 1 to 2^40, got '0'
c.yaml:3:23: bandwidth: expected a quantity like '900 GB/s', got '900'
c.yaml:3:28: memory: unknown key 'capcity', did you mean 'capacity'?
c.yaml:4:34: lanes: expected a whole number from 1 to 2^40, got 'two'
c.yaml:5:1: workload: missing key 'sequence'
c.yaml:5:1: workload: missing key 'global_batch'
c.yaml:5:1: workload: missing key 'heads'
c.yaml:5:1: workload: missing key 'head_dim'
c.yaml:5:1: workload: missing key 'layers'
c.yaml:7:11: hidden: expected a whole number from 1 to 2^40, got '-1'
c.yaml:8:13: execution: unknown key 'ovrlap', did you mean 'overlap'?)");
}

}  // namespace
}  // namespace dfsearch
