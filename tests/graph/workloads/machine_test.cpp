// The generated graphs of decode, DLRM, HPL and FFT, against published runs
// (docs/model.md, section 9, and tests/golden).

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/workload.hpp"
#include "graph/workloads/generators.hpp"

namespace dfsearch {
namespace {

constexpr LlmShape kLlama3_8B{
    .hidden = 4096, .heads = 32, .head_dim = 128, .sequence = 4096, .mlp = 14336};
constexpr LlmShape kLlama3_405B{
    .hidden = 16384, .heads = 128, .head_dim = 128, .sequence = 4096, .mlp = 53248};
constexpr Bytes kWord{2.0};

const Kernel& kernel_called(const DataflowGraph& graph, const std::string& name) {
  const auto& kernels = graph.kernels();
  const auto found =
      std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& k) { return k.name == name; });
  REQUIRE_MESSAGE(found != kernels.end(), "no kernel ", name);
  return *found;
}

std::vector<std::string> producers_of(const DataflowGraph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (const Tensor& t : graph.tensors()) {
    if (graph.kernel(t.to).name == name) names.push_back(graph.kernel(t.from).name);
  }
  return names;
}

double flops(DataflowGraph graph, std::int64_t layers, std::int64_t global_batch) {
  return Workload{.graph = std::move(graph), .layers = layers, .global_batch = global_batch}
      .flops()
      .in_base_units();
}

}  // namespace

TEST_CASE("a decode layer has 20 kernels, 23 tensors and the published buffer depths") {
  const DataflowGraph graph = llm_decode_graph(kLlama3_8B, kWord);
  REQUIRE(graph.kernel_count() == 20);
  REQUIRE(graph.tensor_count() == 23);
  // The published list has the residual connection, 11 deep, one place later.
  const std::vector<std::int64_t> published{2, 2, 2, 2,  2, 2, 3, 2, 2, 2, 2, 5,
                                            2, 2, 2, 11, 2, 2, 2, 2, 2, 2, 7};
  for (std::size_t t = 0; t < published.size(); ++t) {
    CAPTURE(t);
    CHECK(graph.buffer_depth(TensorId(t)) == published[t]);
  }
  CHECK(producers_of(graph, "MHA_GEMM_1") == std::vector<std::string>{"Q", "K_cache"});
  CHECK(producers_of(graph, "MHA_GEMM_2") == std::vector<std::string>{"DropOut_1", "V_cache"});
}

TEST_CASE("decoding reads weights and caches once for all chips of a tensor group") {
  const DataflowGraph graph = llm_decode_graph(kLlama3_8B, kWord);
  // On 16 chips: 2,097,152 B each for a matrix or a cache, 7,340,032 B for the MLP.
  for (const char* name : {"Q", "K", "V", "K_cache", "V_cache", "PROJ_GEMM"}) {
    CHECK(kernel_called(graph, name).sharded_memory.in_base_units() == 16 * 2097152.0);
  }
  for (const char* name : {"FFN0", "FFN1"}) {
    CHECK(kernel_called(graph, name).sharded_memory.in_base_units() == 16 * 7340032.0);
  }
  Bytes sum{};
  for (const Kernel& kernel : graph.kernels()) sum += kernel.sharded_memory + kernel.memory;
  CHECK(sum.in_base_units() == 16 * 27262976.0);
}

TEST_CASE("FLOP of serving are the published ones, caches in systolic mode with 2 an element") {
  CHECK(flops(llm_decode_graph(kLlama3_8B, kWord), 32, 16384) == 264059991621632.0);
  CHECK(flops(llm_decode_graph(kLlama3_405B, kWord), 126, 16384) == 1.2748321248509952e16);
  CHECK(flops(llm_forward_graph(kLlama3_8B), 32, 16384) == 9.374040314232177e17);
}

TEST_CASE("a width of the MLP of 4 * hidden is the default") {
  LlmShape shape = kLlama3_8B;
  shape.mlp = 4 * shape.hidden;
  LlmShape without = shape;
  without.mlp = 0;
  CHECK(llm_training_graph(shape) == llm_training_graph(without));
  CHECK_FALSE(llm_training_graph(shape) == llm_training_graph(kLlama3_8B));
}

namespace {

constexpr DlrmShape kDlrm{.mlp = 6750,
                          .bottom = 5,
                          .top = 15,
                          .local_batch = 512,
                          .all_to_all = Bytes(857088000.0),
                          .memory = Bytes(857088000.0)};

}  // namespace

TEST_CASE("DLRM training has 60 kernels, 76 tensors and the published FLOP") {
  const DataflowGraph graph = dlrm_training_graph(kDlrm);
  CHECK(graph.kernel_count() == 60);
  CHECK(graph.tensor_count() == 76);
  CHECK(flops(graph, 1, 128000000) == 3.5831808e20);
  DlrmShape narrow = kDlrm;
  narrow.mlp = 3375;
  CHECK(flops(dlrm_training_graph(narrow), 1, 128000000) == 8.957952e19);
}

TEST_CASE("embeddings join at the last bottom MLP, in both passes") {
  const DataflowGraph graph = dlrm_training_graph(kDlrm);
  for (const Kernel& kernel : graph.kernels()) {
    CAPTURE(kernel.name);
    const bool embeddings = kernel.name == "MLP_5" || kernel.name == "MLP_5_bwd";
    CHECK(kernel.memory.in_base_units() == (embeddings ? 857088000.0 : 0.0));
    const bool update = kernel.name.ends_with("weight_update");
    REQUIRE(kernel.communication.has_value() == (embeddings || update));
    if (embeddings) CHECK(kernel.communication->type == CommunicationType::AllToAll);
    if (update) CHECK(kernel.communication->type == CommunicationType::FlatGradientAllReduce);
    CHECK(kernel.tiled == Loop::None);
  }
}

TEST_CASE("an update takes the activations before its MLP and the gradient behind it") {
  const DataflowGraph graph = dlrm_training_graph(kDlrm);
  CHECK(producers_of(graph, "MLP_20_bwd_weight_update") == std::vector<std::string>{"MLP_19"});
  CHECK(producers_of(graph, "MLP_7_bwd_weight_update") ==
        std::vector<std::string>{"MLP_6", "MLP_8_bwd"});
  CHECK(producers_of(graph, "MLP_1_bwd_weight_update") == std::vector<std::string>{"MLP_2_bwd"});
  CHECK(producers_of(graph, "MLP_7_bwd") == std::vector<std::string>{"MLP_8_bwd"});
  CHECK(producers_of(graph, "MLP_20_bwd").empty());
}

TEST_CASE("DLRM inference is the forward chain of training") {
  const DataflowGraph inference = dlrm_inference_graph(kDlrm);
  const DataflowGraph training = dlrm_training_graph(kDlrm);
  CHECK(inference.kernel_count() == 20);
  CHECK(inference.tensor_count() == 19);
  CHECK_FALSE(inference.has_backward());
  CHECK(std::equal(inference.kernels().begin(), inference.kernels().end(),
                   training.kernels().begin()));
}

TEST_CASE("HPL is a chain of shrinking updates with the published FLOP") {
  const DataflowGraph graph = hpl_graph(1048576, 2048, 64, kWord);
  CHECK(graph.kernel_count() == 64);
  CHECK(graph.tensor_count() == 63);
  CHECK(flops(graph, 1, 1) == 2.542307278418084e17);
  const Kernel& last = kernel_called(graph, "Iteration_64");
  CHECK(last.m == 1048576 - 63 * 2048);
  CHECK(last.k == last.m);
  CHECK(last.n == 2048);
  CHECK(last.spread == Spread::Grid);
  // side * block * word
  CHECK(last.communication->bytes.in_base_units() == 919552.0 * 2048.0 * 2.0);
  CHECK(last.second_communication->bytes == last.communication->bytes);
}

TEST_CASE("an FFT is two passes with a transposition and the published extents and FLOP") {
  const DataflowGraph graph = fft_graph(std::int64_t{1} << 40, 32, kWord);
  REQUIRE(graph.kernel_count() == 2);
  REQUIRE(graph.tensor_count() == 1);
  const Kernel& second = kernel_called(graph, "Step_2");
  CHECK(second.m == 1048576);
  CHECK(second.k == 512);
  CHECK(second.n == 1048576);
  CHECK(second.communication->type == CommunicationType::Transpose);
  CHECK(second.communication->bytes.in_base_units() == 2199023255552.0);
  CHECK_FALSE(kernel_called(graph, "Step_1").communication.has_value());
  CHECK(flops(graph, 1, 1) == 2251799813685248.0);
}

TEST_CASE("an FFT whose length is no square takes the whole part of its root") {
  const DataflowGraph graph = fft_graph(1073740000000, 2, Bytes(4.0));
  const Kernel& first = kernel_called(graph, "Step_1");
  CHECK(first.m == 1036214);
  CHECK(first.k == 159);
  CHECK(flops(graph, 1, 1) == 682898292614256.0);
}

}  // namespace dfsearch
