// Generated graphs against published runs (docs/model.md, section 9, and tests/golden).  Their
// kernels and tensors are compared in tests/cli/reference_test.py.

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/workload.hpp"
#include "graph/workloads/generators.hpp"

namespace dfsearch {
namespace {

constexpr LlmShape kGpt3_175B{.hidden = 12288, .heads = 96, .head_dim = 128, .sequence = 2048};
constexpr LlmShape kGpt3_1T{.hidden = 25600, .heads = 160, .head_dim = 160, .sequence = 2048};
constexpr LlmShape kLlama3_8B{
    .hidden = 4096, .heads = 32, .head_dim = 128, .sequence = 4096, .mlp = 14336};
constexpr LlmShape kLlama3_405B{
    .hidden = 16384, .heads = 128, .head_dim = 128, .sequence = 4096, .mlp = 53248};
constexpr Bytes kWord{2.0};

double flops(DataflowGraph graph, std::int64_t layers, std::int64_t global_batch) {
  return Workload{.graph = std::move(graph), .layers = layers, .global_batch = global_batch}
      .flops()
      .in_base_units();
}

void check_depths(const DataflowGraph& graph, const std::vector<std::int64_t>& published) {
  REQUIRE(graph.tensor_count() == published.size());
  for (std::size_t t = 0; t < published.size(); ++t) {
    CAPTURE(graph.kernel(graph.tensor(TensorId(t)).from).name);
    CHECK(graph.buffer_depth(TensorId(t)) == published[t]);
  }
}

}  // namespace

// Residual connections are the deep ones: V waits for the attention scores,
// Add_1 for the whole attention block, Add_2 for the feed-forward block.
TEST_CASE("buffer depths are those of the published forward run and of decoding") {
  check_depths(llm_forward_graph(kGpt3_175B),
               {2, 2, 2, 2, 2, 2, 2, 2, 5, 2, 2, 2, 2, 10, 2, 2, 2, 2, 2, 2, 7});
  // The published list has the residual connection, 11 deep, one place later.
  check_depths(llm_decode_graph(kLlama3_8B, kWord),
               {2, 2, 2, 2, 2, 2, 3, 2, 2, 2, 2, 5, 2, 2, 2, 11, 2, 2, 2, 2, 2, 2, 7});
}

TEST_CASE("FLOP are the published ones, caches in systolic mode with 2 an element") {
  CHECK(flops(llm_training_graph(kGpt3_1T), 128, 3072) ==
        doctest::Approx(3.85072240461978e19).epsilon(1e-12));
  CHECK(flops(llm_forward_graph(kGpt3_175B), 96, 2304) ==
        doctest::Approx(1.6874003603411436e18).epsilon(1e-12));
  CHECK(flops(llm_decode_graph(kLlama3_8B, kWord), 32, 16384) == 264059991621632.0);
  CHECK(flops(llm_decode_graph(kLlama3_405B, kWord), 126, 16384) == 1.2748321248509952e16);
  CHECK(flops(llm_forward_graph(kLlama3_8B), 32, 16384) == 9.374040314232177e17);
  DlrmShape dlrm{.mlp = 6750,
                 .bottom = 5,
                 .top = 15,
                 .local_batch = 512,
                 .all_to_all = Bytes(857088000.0),
                 .memory = Bytes(857088000.0)};
  CHECK(flops(dlrm_training_graph(dlrm), 1, 128000000) == 3.5831808e20);
  dlrm.mlp = 3375;
  CHECK(flops(dlrm_training_graph(dlrm), 1, 128000000) == 8.957952e19);
  CHECK(flops(hpl_graph(1048576, 2048, 64, kWord), 1, 1) == 2.542307278418084e17);
  CHECK(flops(fft_graph(std::int64_t{1} << 40, 32, kWord), 1, 1) == 2251799813685248.0);
  CHECK(flops(fft_graph(1073740000000, 2, Bytes(4.0)), 1, 1) == 682898292614256.0);
}

TEST_CASE("a language model of LSTM layers has three times the FLOP of its parameters") {
  const DataflowGraph graph = lstm_graph(
      {.hidden = 96, .vocabulary = 1000, .layers = 3, .steps = 7, .local_batch = 5}, kWord);
  // Two for each weight and column forward, twice that backward; and one for each element.
  const double d = 96.0, v = 1000.0, n = 35.0;
  const double weights = 8.0 * d * d * 3.0 + v * d;
  const double elements = 3.0 * 2.0 * 4.0 * d + 2.0 * v + 2.0 * d;
  CHECK(graph.flops().in_base_units() == doctest::Approx(6.0 * weights * n + elements * n));
}

}  // namespace dfsearch
