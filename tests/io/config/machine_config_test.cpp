// Configs of DLRM, HPL, FFT and decode: what is read, and what is wrong with others.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "io/config/config_messages.hpp"
#include "io/config/load_config.hpp"
#include "support/temporary_directory.hpp"

namespace dfsearch {
namespace {

using test::message_of;

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

Problem loaded_machine(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const test::TemporaryDirectory directory;
  directory.write("c.yaml", text);
  return load_config(directory.path() / "c.yaml", overrides).problem;
}

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
  std::string given = kDlrm + ", all_to_all: 7 B";
  const Problem one = loaded_machine(config_of(given));
  CHECK(one.workload.graph.kernels()[1].communication->bytes == Bytes(7.0));
  CHECK(one.workload.graph.kernels()[1].memory == Bytes(1440.0));
  const std::string pooled = ", pooled_rows: 4";
  given.replace(given.find(pooled), pooled.size(), "");
  CHECK(message_of(config_of(given)) == "c.yaml:1:1: workload: missing key 'pooled_rows'");
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
  CHECK(message_of(config_of(kHpl + ", copies: 3")) ==
        "c.yaml:3:10: chips: expected a multiple of the copies of the workload, 3, got 8");
  // One chip is a line of one, a part of the ring of two.
  CHECK(message_of(config_of(kHpl + ", copies: 8")) == "accepted");
}

TEST_CASE("a network has any number of dimensions, as long as a search can go through its uses") {
  const std::string link = "    - {topology: ring, bandwidth: 1 GB/s}\n";
  CHECK(loaded_machine(config_of(kHpl, "", link + link + link)).system.network.size() == 5);
  // 2^40 chips: 39 factors of 2 in eight dimensions are C(46, 7) = 53,524,680 degrees.
  std::string many;
  for (int i = 0; i < 7; ++i) many += link;
  CHECK(message_of(config_of(kHpl, "", many), {"system.chips=1099511627776"}) ==
        "c.yaml:7:5: network: the network can be used in 5.4e+07 ways, expected at most 1e+07: fix "
        "the degree or strategy of more dimensions");
}

TEST_CASE("a second tier of memory is slower and comes after a limit of the first") {
  const Problem problem = loaded_machine(
      config_of(kHpl, ", capacity: 10 GB, second: {bandwidth: 100 MB/s, capacity: 30 GB}"));
  REQUIRE(problem.system.second_memory() != nullptr);
  CHECK(problem.system.memory_capacity() == Bytes(40e9));
  CHECK(problem.spilled_bandwidth().in_base_units() ==
        doctest::Approx(1.0 / (0.25 / 1e9 + 0.75 / 1e8)));
  CHECK(message_of(config_of(kHpl, ", second: {bandwidth: 100 MB/s, capacity: 30 GB}")) ==
        "c.yaml:5:31: second: a second tier is used when the first one is full; expected "
        "'capacity' of the first tier");
  CHECK(message_of(
            config_of(kHpl, ", capacity: 1 GB, second: {bandwidth: 2 GB/s, capacity: 30 GB}")) ==
        "c.yaml:5:67: bandwidth: expected at most that of the first tier, 1 GB/s, got 2 GB/s");
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

TEST_CASE("what is wrong with a config of these kinds is said") {
  CHECK(message_of(config_of(kHpl, "", "parallelism: {data: 2}\n")) == "accepted");
  const auto with = [](std::string text, const std::string& what, const std::string& by) {
    return message_of(config_of(text.replace(text.find(what), what.size(), by)));
  };
  CHECK(with(kHpl, "iterations: 3", "iterations: 11") ==
        "c.yaml:1:54: iterations: expected at most n / block = 100 / 10, got 11");
  CHECK(with(kHpl, "iterations: 3", "iterations: 100001") ==
        "c.yaml:1:54: iterations: expected a whole number from 1 to 100000, got '100001'");
  CHECK(with(kHpl, "n: 100", "n: 1099511627776") ==
        "c.yaml:1:1: workload: kernel 'Iteration_1' is too large: 1 x 1099511627776 x "
        "1099511627776 x 10 iterations, expected fewer than 2^62");
  CHECK(with(kDlrm, "tables: 3, pooled_rows: 4, rows: 100",
             "tables: 1099511627776, pooled_rows: 1, rows: 1099511627776") ==
        "c.yaml:1:1: workload: too much data to store: 2.42e+25 B, expected at most 1e24");
  CHECK(with(kFft, "radix: 4", "radix: 1") ==
        "c.yaml:1:44: radix: expected a whole number from 2 to 2^40, got '1'");
  CHECK(with(kDlrm, "bottom: 2", "bottom: 0") ==
        "c.yaml:1:50: bottom: expected a whole number from 1 to 5000, got '0'");
  CHECK(with(kDlrm, "global_batch: 16", "global_batch: 12") ==
        "c.yaml:1:143: global_batch: expected a multiple of the data degree, 8, got 12");
  CHECK(with(kDlrm, "mlp: 10, ", "mlp: 10, tile: 4, ") ==
        "c.yaml:1:42: workload: unknown key 'tile', expected kind, word, mlp, bottom, top, tables, "
        "rows, embedding, pooled_rows, all_to_all, memory, local_batch, global_batch or copies");
}

TEST_CASE("a strategy that the kind of workload does not have is an error") {
  std::string text = config_of(kDlrm);
  const std::string what = "switch, ";
  text.replace(text.find(what), what.size(), "switch, strategy: tensor, ");
  CHECK(message_of(text) ==
        "c.yaml:8:36: strategy: this kind of workload uses every dimension for data; expected that "
        "or no key, got tensor");
  text.replace(text.find("tensor"), 6, "data");
  CHECK(message_of(text) == "accepted");
}

}  // namespace dfsearch
