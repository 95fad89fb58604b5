// The graph of one transformer layer.
//
// Every GEMM is written as output(M, N) = weight(M, K) x input(K, N) with the
// sequence along N, so the sequence is the loop that is cut into tiles and
// weights never are.  Attention runs per head: `outer` counts the heads.  The
// backward pass mirrors the forward one (same weights, transposed), and each
// weight gets an update, a GEMM that contracts over the sequence (tiled on K)
// and whose output, the gradient, is all-reduced over the data dimensions.
//
// Kernel and tensor lists follow docs/model.md, section 9; the counts and the
// FLOP are checked against published runs in tests/graph/workload_llm_test.cpp.

#include <array>
#include <utility>
#include <vector>

#include "graph/workload.hpp"

namespace dfsearch {
namespace {

class LayerBuilder {
 public:
  void elementwise(const char* name, std::int64_t outer, std::int64_t m, std::int64_t n) {
    add({.name = name, .kind = KernelKind::Elementwise, .outer = outer, .m = m, .n = n});
  }
  void elementwise2(const char* name, std::int64_t outer, std::int64_t m, std::int64_t n) {
    add({.name = name, .kind = KernelKind::Elementwise2, .outer = outer, .m = m, .n = n});
  }
  void weight_gemm(const char* name, std::int64_t outer, std::int64_t m, std::int64_t k,
                   std::int64_t n) {
    add({.name = name,
         .kind = KernelKind::WeightGemm,
         .mode = Mode::Systolic,
         .outer = outer,
         .m = m,
         .k = k,
         .n = n});
  }
  void gemm(const char* name, std::int64_t outer, std::int64_t m, std::int64_t k, std::int64_t n) {
    add({.name = name,
         .kind = KernelKind::Gemm,
         .mode = Mode::Systolic,
         .outer = outer,
         .m = m,
         .k = k,
         .n = n});
  }
  void weight_update(const char* name, std::int64_t m, std::int64_t k, std::int64_t n) {
    add({.name = name,
         .kind = KernelKind::Gemm,
         .mode = Mode::Systolic,
         .tiled = Loop::K,
         .m = m,
         .k = k,
         .n = n,
         .communication =
             Communication{.type = CommunicationType::GradientAllReduce, .bytes = {}}});
  }
  void begin_backward() { phase_ = Phase::Backward; }

  /// Joins kernels by their numbers in the list, counted from 1.  The first
  /// tensor into a kernel is its operand 1, the next its operand 2.
  template <std::size_t Count>
  void connect(const std::array<std::pair<int, int>, Count>& pairs) {
    for (const auto& [from, to] : pairs) {
      const auto consumer = static_cast<std::size_t>(to - 1);
      tensors_.push_back({.from = KernelId(static_cast<std::size_t>(from - 1)),
                          .to = KernelId(consumer),
                          .operand = ++operands_[consumer]});
    }
  }

  DataflowGraph build() && { return {std::move(kernels_), std::move(tensors_)}; }

 private:
  void add(Kernel kernel) {
    kernel.phase = phase_;
    kernels_.push_back(std::move(kernel));
    operands_.push_back(0);
  }

  Phase phase_ = Phase::Forward;
  std::vector<Kernel> kernels_;
  std::vector<Tensor> tensors_;
  std::vector<int> operands_;
};

void add_forward(LayerBuilder& layer, const LlmShape& shape) {
  const auto [h, a, d, s] = shape;
  layer.elementwise("Add_Prev_Layer", 1, h, s);
  layer.elementwise("LayerNorm_1", 1, h, s);
  layer.weight_gemm("Q", a, d, h, s);
  layer.weight_gemm("K", a, d, h, s);
  layer.weight_gemm("V", a, d, h, s);
  layer.gemm("MHA_GEMM_1", a, s, d, s);
  layer.elementwise("SOFTMAX", a, s, s);
  layer.elementwise("DropOut_1", a, s, s);
  layer.gemm("MHA_GEMM_2", a, d, s, s);
  layer.weight_gemm("PROJ_GEMM", 1, h, h, s);
  layer.elementwise("DropOut_2", 1, h, s);
  layer.elementwise2("Add_1", 1, h, s);
  layer.elementwise("LayerNorm_2", 1, h, s);
  layer.weight_gemm("FFN0", 1, 4 * h, h, s);
  layer.elementwise("GeLU", 1, 4 * h, s);
  layer.weight_gemm("FFN1", 1, h, 4 * h, s);
  layer.elementwise("DropOut_3", 1, h, s);
  layer.elementwise2("Add_2", 1, h, s);
  layer.connect(std::to_array<std::pair<int, int>>(
      {{1, 2},   {2, 3},   {2, 4},   {2, 5},   {3, 6},   {4, 6},   {6, 7},
       {7, 8},   {5, 9},   {8, 9},   {9, 10},  {10, 11}, {11, 12}, {1, 12},
       {12, 13}, {13, 14}, {14, 15}, {15, 16}, {16, 17}, {17, 18}, {12, 18}}));
}

void add_backward(LayerBuilder& layer, const LlmShape& shape) {
  const auto [h, a, d, s] = shape;
  layer.begin_backward();
  layer.elementwise("Loss_bwd", 1, h, s);
  layer.elementwise("DropOut_3_bwd", 1, h, s);
  layer.weight_gemm("FFN1_bwd", 1, 4 * h, h, s);
  layer.elementwise("GeLU_bwd", 1, 4 * h, s);
  layer.weight_gemm("FFN0_bwd", 1, h, 4 * h, s);
  layer.elementwise("LayerNorm_2_bwd", 1, h, s);
  layer.elementwise("DropOut_2_bwd", 1, h, s);
  layer.weight_gemm("PROJ_GEMM_bwd", 1, h, h, s);
  layer.gemm("MHA_GEMM_2_bwd1", a, s, d, s);
  layer.gemm("MHA_GEMM_2_bwd2", a, d, s, s);
  layer.weight_gemm("V_bwd", 1, h, h, s);
  layer.elementwise("DropOut_1_bwd", a, s, s);
  layer.elementwise("SOFTMAX_bwd", a, s, s);
  layer.gemm("MHA_GEMM_1_bwd1", a, d, s, s);
  layer.gemm("MHA_GEMM_1_bwd2", a, d, s, s);
  layer.weight_gemm("Q_bwd", a, d, h, s);
  layer.weight_gemm("K_bwd", a, d, h, s);
  layer.weight_update("FFN1_bwd_weight_update", 4 * h, s, h);
  layer.weight_update("FFN0_bwd_weight_update", h, s, 4 * h);
  layer.weight_update("PROJ_GEMM_bwd_weight_update", h, s, h);
  layer.weight_update("V_bwd_weight_update", h, s, h);
  layer.weight_update("K_bwd_weight_update", h, s, h);
  layer.weight_update("Q_bwd_weight_update", h, s, h);
  // 26-27 before 5-27 and 26-28 before 8-28: the gradient is operand 1; so it
  // is of 32 and 33, where 31 comes first.
  layer.connect(std::to_array<std::pair<int, int>>(
      {{19, 20}, {20, 21}, {21, 22}, {22, 23}, {23, 24}, {24, 25}, {25, 26}, {26, 27},
       {5, 27},  {26, 28}, {8, 28},  {27, 30}, {28, 29}, {30, 31}, {31, 32}, {31, 33},
       {4, 32},  {3, 33},  {32, 34}, {33, 35}, {20, 36}, {15, 36}, {22, 37}, {13, 37},
       {25, 38}, {9, 38},  {28, 39}, {2, 39},  {33, 40}, {2, 40},  {32, 41}, {2, 41}}));
}

}  // namespace

DataflowGraph llm_forward_graph(const LlmShape& shape) {
  LayerBuilder layer;
  add_forward(layer, shape);
  return std::move(layer).build();
}

DataflowGraph llm_training_graph(const LlmShape& shape) {
  LayerBuilder layer;
  add_forward(layer, shape);
  add_backward(layer, shape);
  return std::move(layer).build();
}

}  // namespace dfsearch
