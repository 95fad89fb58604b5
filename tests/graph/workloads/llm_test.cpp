#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/workload.hpp"
#include "graph/workloads/generators.hpp"

namespace dfsearch {
namespace {

constexpr LlmShape kGpt3_175B{.hidden = 12288, .heads = 96, .head_dim = 128, .sequence = 2048};
constexpr LlmShape kGpt3_1T{.hidden = 25600, .heads = 160, .head_dim = 160, .sequence = 2048};

const Kernel& kernel_named(const DataflowGraph& graph, const std::string& name) {
  const auto& kernels = graph.kernels();
  const auto found =
      std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& k) { return k.name == name; });
  REQUIRE_MESSAGE(found != kernels.end(), "no kernel ", name);
  return *found;
}

/// The operand that `from` is of `to`; 0 if no tensor joins them.
int operand_of(const DataflowGraph& graph, const std::string& from, const std::string& to) {
  for (const Tensor& t : graph.tensors()) {
    if (graph.kernel(t.from).name == from && graph.kernel(t.to).name == to) return t.operand;
  }
  return 0;
}

TEST_CASE("a transformer layer has 18 kernels forward and 41 with training") {
  const DataflowGraph forward = llm_forward_graph(kGpt3_175B);
  CHECK(forward.kernel_count() == 18);
  CHECK(forward.tensor_count() == 21);
  CHECK_FALSE(forward.has_backward());

  const DataflowGraph training = llm_training_graph(kGpt3_175B);
  CHECK(training.kernel_count() == 41);
  CHECK(training.tensor_count() == 53);
  CHECK(training.has_backward());
}

TEST_CASE("training begins with the forward layer") {
  const DataflowGraph forward = llm_forward_graph(kGpt3_1T);
  const DataflowGraph training = llm_training_graph(kGpt3_1T);
  CHECK(std::equal(forward.kernels().begin(), forward.kernels().end(), training.kernels().begin()));
  CHECK(std::equal(forward.tensors().begin(), forward.tensors().end(), training.tensors().begin()));
}

TEST_CASE("forward kernels are listed in topological order") {
  const DataflowGraph graph = llm_forward_graph(kGpt3_1T);
  for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
    CHECK(graph.topological_order()[k] == KernelId(k));
  }
}

// The two amounts of work are those that published runs print.
TEST_CASE("FLOP of training GPT3-1T for a step are the published ones") {
  const Workload workload{.kind = WorkloadKind::LlmTraining,
                          .graph = llm_training_graph(kGpt3_1T),
                          .layers = 128,
                          .global_batch = 3072,
                          .sequence = 2048};
  CHECK(workload.flops().in_base_units() == doctest::Approx(3.85072240461978e19).epsilon(1e-12));
}

TEST_CASE("FLOP of GPT3-175B forward for a step are the published ones") {
  const Workload workload{.kind = WorkloadKind::LlmPrefill,
                          .graph = llm_forward_graph(kGpt3_175B),
                          .layers = 96,
                          .global_batch = 2304,
                          .sequence = 2048};
  CHECK(workload.flops().in_base_units() == doctest::Approx(1.6874003603411436e18).epsilon(1e-12));
}

// Residual connections are the deep ones: V waits for the attention scores,
// Add_1 for the whole attention block, Add_2 for the feed-forward block.
TEST_CASE("buffer depths are those of the published forward run") {
  const DataflowGraph graph = llm_forward_graph(kGpt3_175B);
  const std::vector<std::int64_t> published{2, 2, 2,  2, 2, 2, 2, 2, 5, 2, 2,
                                            2, 2, 10, 2, 2, 2, 2, 2, 2, 7};
  REQUIRE(graph.tensor_count() == published.size());
  for (std::size_t t = 0; t < published.size(); ++t) {
    CAPTURE(graph.kernel(graph.tensor(TensorId(t)).from).name);
    CHECK(graph.buffer_depth(TensorId(t)) == published[t]);
  }
}

TEST_CASE("GEMMs run on the systolic mode and the rest on SIMD") {
  const DataflowGraph graph = llm_training_graph(kGpt3_1T);
  for (const Kernel& kernel : graph.kernels()) {
    CAPTURE(kernel.name);
    const bool gemm = kernel.kind == KernelKind::WeightGemm || kernel.kind == KernelKind::Gemm;
    CHECK((kernel.mode == Mode::Systolic) == gemm);
    CHECK((kernel.k == 1) == !gemm);
  }
}

TEST_CASE("the feed-forward block is four times as wide as the rest") {
  const DataflowGraph graph = llm_forward_graph(kGpt3_1T);
  CHECK(kernel_named(graph, "FFN0").m == 4 * kGpt3_1T.hidden);
  CHECK(kernel_named(graph, "FFN1").k == 4 * kGpt3_1T.hidden);
  CHECK(kernel_named(graph, "FFN1").m == kGpt3_1T.hidden);
}

TEST_CASE("the six weight updates contract over the sequence and all-reduce gradients") {
  int updates = 0;
  const DataflowGraph graph = llm_training_graph(kGpt3_1T);
  for (const Kernel& kernel : graph.kernels()) {
    CAPTURE(kernel.name);
    const bool is_update = kernel.name.ends_with("_weight_update");
    updates += is_update ? 1 : 0;
    CHECK((kernel.tiled == Loop::K) == is_update);
    CHECK(kernel.communication.has_value() == is_update);
    if (!is_update) {
      CHECK(kernel.tiled == Loop::N);
      continue;
    }
    CHECK(kernel.k == kGpt3_1T.sequence);
    CHECK(kernel.phase == Phase::Backward);
    CHECK_FALSE(kernel.has_weight());
    CHECK(kernel.communication->type == CommunicationType::GradientAllReduce);
  }
  CHECK(updates == 6);
}

// 12 hidden^2 per layer, as usually quoted for a transformer.
TEST_CASE("forward weights are twelve times the hidden size squared") {
  std::int64_t weights = 0;
  const DataflowGraph graph = llm_forward_graph(kGpt3_175B);
  for (const Kernel& kernel : graph.kernels()) {
    if (kernel.has_weight()) weights += kernel.outer * kernel.m * kernel.k;
  }
  CHECK(weights == 12 * kGpt3_175B.hidden * kGpt3_175B.hidden);
}

TEST_CASE("the operands of the attention GEMMs are in their places") {
  const DataflowGraph graph = llm_training_graph(kGpt3_1T);
  CHECK(operand_of(graph, "Q", "MHA_GEMM_1") == 1);
  CHECK(operand_of(graph, "K", "MHA_GEMM_1") == 2);
  CHECK(operand_of(graph, "V", "MHA_GEMM_2") == 1);
  CHECK(operand_of(graph, "DropOut_1", "MHA_GEMM_2") == 2);
  CHECK(operand_of(graph, "PROJ_GEMM_bwd", "MHA_GEMM_2_bwd1") == 1);
  CHECK(operand_of(graph, "V", "MHA_GEMM_2_bwd1") == 2);
  CHECK(operand_of(graph, "PROJ_GEMM_bwd", "MHA_GEMM_2_bwd2") == 1);
  CHECK(operand_of(graph, "DropOut_1", "MHA_GEMM_2_bwd2") == 2);
  CHECK(operand_of(graph, "SOFTMAX_bwd", "MHA_GEMM_1_bwd1") == 1);
  CHECK(operand_of(graph, "K", "MHA_GEMM_1_bwd1") == 2);
  CHECK(operand_of(graph, "SOFTMAX_bwd", "MHA_GEMM_1_bwd2") == 1);
  CHECK(operand_of(graph, "Q", "MHA_GEMM_1_bwd2") == 2);
}

TEST_CASE("backward kernels never feed forward ones") {
  const DataflowGraph graph = llm_training_graph(kGpt3_1T);
  for (const Tensor& t : graph.tensors()) {
    const bool backward = graph.kernel(t.from).phase == Phase::Backward;
    CHECK_FALSE((backward && graph.kernel(t.to).phase == Phase::Forward));
  }
}

}  // namespace
}  // namespace dfsearch
