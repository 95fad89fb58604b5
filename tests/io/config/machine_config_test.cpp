// Configs of DLRM, HPL, FFT and decode: what is read.  Wrong ones are in
// tests/cli/transcripts/machines.txt.

#include <doctest/doctest.h>

#include <string>

#include "io/config/load_config.hpp"

namespace dfsearch {
namespace {

/// A whole config around the keys of a workload.
std::string config_of(const std::string& workload, const std::string& memory = "",
                      const std::string& more = "") {
  return "workload: {" + workload +
         "}\n"
         "system:\n"
         "  chips: 8\n"
         "  accelerator: {cores: 4, lanes: 2, stages: 2, frequency: 1 GHz, sram: 1 MB}\n"
         "  memory: {bandwidth: 1 GB/s" +
         memory +
         "}\n"
         "  network:\n"
         "    - {topology: ring, degree: 2, bandwidth: 1 GB/s, latency: 150 ns}\n"
         "    - {topology: switch, bandwidth: 1 GB/s}\n" +
         more;
}

Problem loaded_machine(const std::string& text) { return parse_config(text, "c.yaml").problem; }

const std::string kDlrm =
    "kind: dlrm_training, mlp: 10, bottom: 2, top: 1, tables: 3, pooled_rows: 4, rows: 100, "
    "embedding: 5, local_batch: 6, global_batch: 16, word: 4 B";
const std::string kHpl = "kind: hpl, n: 100, block: 10, iterations: 3, word: 8 B";
const std::string kFft = "kind: fft, length: 1024, radix: 4, word: 4 B";
const std::string kDecode =
    "kind: llm_decode, hidden: 8, heads: 2, head_dim: 4, mlp: 20, context: 30, layers: 3, "
    "global_batch: 5, word: 2 B";

}  // namespace

TEST_CASE("a DLRM exchanges its pooled rows and stores its tables") {
  const Problem problem = loaded_machine(config_of(kDlrm));
  const Workload& workload = problem.workload;
  CHECK(workload.graph.kernel_count() == 9);
  const Kernel& bottom = workload.graph.kernels()[1];
  CHECK(bottom.communication->bytes == Bytes(3.0 * 4 * 5 * 6 * 4));
  CHECK(bottom.memory == bottom.communication->bytes);
  CHECK(workload.stored == Bytes(3.0 * 100 * 5 * 4));
  CHECK(workload.global_batch == 16);
  CHECK(workload.layers == 1);
  for (const NetworkDimension& d : problem.system.network) CHECK(d.strategy == Strategy::Data);
  CHECK(problem.system.network[0].latency.in_base_units() == doctest::Approx(150e-9));
  CHECK(problem.system.network[1].latency == Seconds(0.0));
}

TEST_CASE("bytes of a DLRM that are given stand in place of the product") {
  const std::string given = kDlrm + ", all_to_all: 7 B";
  const Problem one = loaded_machine(config_of(given));
  CHECK(one.workload.graph.kernels()[1].communication->bytes == Bytes(7.0));
  CHECK(one.workload.graph.kernels()[1].memory == Bytes(1440.0));
  CHECK(loaded_machine(config_of(given + ", memory: 9 B")).workload.graph.kernels()[1].memory ==
        Bytes(9.0));
}

TEST_CASE("DLRM inference has no backward kernels") {
  std::string inference = kDlrm;
  inference.replace(inference.find("training"), 8, "inference");
  CHECK(loaded_machine(config_of(inference)).workload.graph.kernel_count() == 3);
}

TEST_CASE("HPL and FFT work in memory on the whole machine") {
  for (const std::string& text : {kHpl, kFft}) {
    CAPTURE(text);
    const Problem problem = loaded_machine(config_of(text));
    CHECK(problem.workload.out_of_core);
    CHECK(problem.workload.network_use == NetworkUse::Tensor);
    CHECK(problem.workload.global_batch == 1);
    for (const NetworkDimension& d : problem.system.network) {
      CHECK(d.strategy == Strategy::Tensor);
    }
  }
  CHECK(loaded_machine(config_of(kHpl)).workload.stored == Bytes(100.0 * 100 * 8));
  CHECK(loaded_machine(config_of(kFft)).workload.stored == Bytes(1024.0 * 4));
}

TEST_CASE("decoding serves one token at a time") {
  const Problem problem = loaded_machine(config_of(kDecode));
  CHECK(problem.workload.graph.kernel_count() == 20);
  CHECK(problem.workload.sequence == 1);
  CHECK(problem.workload.boundary == Bytes(0.0));
  REQUIRE(problem.workload.serving.has_value());
  CHECK(problem.workload.serving->decode);
  CHECK(problem.workload.serving->boundary == Bytes(16.0));
  // The network stays free.
  CHECK_FALSE(problem.system.network[0].strategy.has_value());
}

TEST_CASE("copies divide the chips") {
  const Problem problem = loaded_machine(config_of(kHpl + ", copies: 2"));
  CHECK(problem.workload.copies == 2);
  CHECK(problem.chips_per_copy() == 4);
}

TEST_CASE("a network has any number of dimensions") {
  const std::string link = "    - {topology: ring, bandwidth: 1 GB/s}\n";
  CHECK(loaded_machine(config_of(kHpl, "", link + link + link)).system.network.size() == 5);
}

TEST_CASE("a second tier of memory slows down what the first cannot hold") {
  const Problem problem = loaded_machine(
      config_of(kHpl, ", capacity: 10 GB, second: {bandwidth: 100 MB/s, capacity: 30 GB}"));
  REQUIRE(problem.system.second_memory() != nullptr);
  CHECK(problem.system.memory_capacity() == Bytes(40e9));
  CHECK(problem.spilled_bandwidth().in_base_units() ==
        doctest::Approx(1.0 / (0.25 / 1e9 + 0.75 / 1e8)));
}

TEST_CASE("the switches of the whole machine") {
  const auto equations = [](const std::string& text) {
    return loaded_machine(config_of(kFft, "", "equations: " + text + "\n")).equations;
  };
  CHECK(equations("physical").all_to_all == AllToAllTime::PerDimension);
  CHECK(equations("published").all_to_all == AllToAllTime::Bisection);
  CHECK(equations("published").dlrm_gradient_bandwidth == BytesPerSecond(1e9));
  const Equations changed =
      equations("{preset: published, all_to_all_pairs: n_n1_2, dlrm_gradient_bandwidth: network}");
  CHECK(changed.all_to_all == AllToAllTime::Bisection);
  CHECK(changed.all_to_all_pairs == PairCount::AllPairs);
  CHECK_FALSE(changed.dlrm_gradient_bandwidth.has_value());
  CHECK(equations("{all_to_all_pairs: n2_2}").all_to_all_pairs == PairCount::HalfSquare);
  CHECK(equations("{all_to_all_pairs: n2_4}").all_to_all_pairs == PairCount::QuarterSquare);
  CHECK(equations("{dlrm_gradient_bandwidth: 2 GB/s}").dlrm_gradient_bandwidth ==
        BytesPerSecond(2e9));
}

}  // namespace dfsearch
