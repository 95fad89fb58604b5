// The graph of one transformer layer.
//
// Every GEMM is written as output(M, N) = weight(M, K) x input(K, N) with the sequence along N, so
// the sequence is the loop that is cut into tiles and weights never are.  Attention runs per head:
// `outer` counts the heads.  The backward pass mirrors the forward one (same weights, transposed),
// and each weight gets an update: a GEMM that contracts over the sequence (tiled on K).  Its
// output, the gradient, is all-reduced over the data dimensions.
//
// Kernel and tensor lists follow docs/model.md, section 9; the counts and the
// FLOP are checked against published runs in tests/graph/workloads/machine_test.cpp.

#include "graph/workloads/generators.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "graph/graph_builder.hpp"

namespace dfsearch {
namespace {

void couple(Kernel& kernel) { kernel.coupled = llm_coupled_rows(kernel.name); }

void add_forward(GraphBuilder& layer, const LlmShape& shape) {
  const std::int64_t h = shape.hidden, a = shape.heads, d = shape.head_dim, s = shape.sequence;
  const std::int64_t f = shape.mlp_width();
  layer.elementwise("Add_Prev_Layer", 1, h, s);
  couple(layer.elementwise("LayerNorm_1", 1, h, s));
  layer.weight_gemm("Q", a, d, h, s);
  layer.weight_gemm("K", a, d, h, s);
  layer.weight_gemm("V", a, d, h, s);
  layer.gemm("MHA_GEMM_1", a, s, d, s);
  couple(layer.elementwise("SOFTMAX", a, s, s));
  layer.elementwise("DropOut_1", a, s, s);
  layer.gemm("MHA_GEMM_2", a, d, s, s);
  layer.weight_gemm("PROJ_GEMM", 1, h, h, s);
  layer.elementwise("DropOut_2", 1, h, s);
  layer.elementwise2("Add_1", 1, h, s);
  couple(layer.elementwise("LayerNorm_2", 1, h, s));
  layer.weight_gemm("FFN0", 1, f, h, s);
  layer.elementwise("GeLU", 1, f, s);
  layer.weight_gemm("FFN1", 1, h, f, s);
  layer.elementwise("DropOut_3", 1, h, s);
  layer.elementwise2("Add_2", 1, h, s);
  layer.connect(std::to_array<std::pair<int, int>>(
      {{1, 2},   {2, 3},   {2, 4},   {2, 5},   {3, 6},   {4, 6},   {6, 7},
       {7, 8},   {5, 9},   {8, 9},   {9, 10},  {10, 11}, {11, 12}, {1, 12},
       {12, 13}, {13, 14}, {14, 15}, {15, 16}, {16, 17}, {17, 18}, {12, 18}}));
  layer.hand_over(18, 1);
}

void add_backward(GraphBuilder& layer, const LlmShape& shape) {
  const std::int64_t h = shape.hidden, a = shape.heads, d = shape.head_dim, s = shape.sequence;
  const std::int64_t f = shape.mlp_width();
  layer.begin_backward();
  layer.elementwise("Loss_bwd", 1, h, s);
  layer.elementwise("DropOut_3_bwd", 1, h, s);
  layer.weight_gemm("FFN1_bwd", 1, f, h, s);
  layer.elementwise("GeLU_bwd", 1, f, s);
  layer.weight_gemm("FFN0_bwd", 1, h, f, s);
  couple(layer.elementwise("LayerNorm_2_bwd", 1, h, s));
  layer.elementwise("DropOut_2_bwd", 1, h, s);
  layer.weight_gemm("PROJ_GEMM_bwd", 1, h, h, s);
  layer.gemm("MHA_GEMM_2_bwd1", a, s, d, s);
  layer.gemm("MHA_GEMM_2_bwd2", a, d, s, s);
  layer.weight_gemm("V_bwd", 1, h, h, s);
  layer.elementwise("DropOut_1_bwd", a, s, s);
  couple(layer.elementwise("SOFTMAX_bwd", a, s, s));
  layer.gemm("MHA_GEMM_1_bwd1", a, d, s, s);
  layer.gemm("MHA_GEMM_1_bwd2", a, d, s, s);
  layer.weight_gemm("Q_bwd", a, d, h, s);
  layer.weight_gemm("K_bwd", a, d, h, s);
  layer.weight_update("FFN1_bwd_weight_update", f, s, h);
  layer.weight_update("FFN0_bwd_weight_update", h, s, f);
  layer.weight_update("PROJ_GEMM_bwd_weight_update", h, s, h);
  layer.weight_update("V_bwd_weight_update", h, s, h);
  layer.weight_update("K_bwd_weight_update", h, s, h);
  layer.weight_update("Q_bwd_weight_update", h, s, h);
  for (const char* name : {"Q", "K", "V", "PROJ_GEMM", "FFN0", "FFN1"}) {
    layer.share_weight(name, std::string(name) + "_bwd");
  }
  // The gradient comes first, so it is operand 1: 26-27 before 5-27, 26-28 before 8-28, and output
  // 31 before the other inputs of 32 and 33.
  layer.connect(std::to_array<std::pair<int, int>>(
      {{19, 20}, {20, 21}, {21, 22}, {22, 23}, {23, 24}, {24, 25}, {25, 26}, {26, 27},
       {5, 27},  {26, 28}, {8, 28},  {27, 30}, {28, 29}, {30, 31}, {31, 32}, {31, 33},
       {4, 32},  {3, 33},  {32, 34}, {33, 35}, {20, 36}, {15, 36}, {22, 37}, {13, 37},
       {25, 38}, {9, 38},  {28, 39}, {2, 39},  {33, 40}, {2, 40},  {32, 41}, {2, 41}}));
  for (const int gradient : {29, 34, 35}) layer.hand_over(gradient, 19);
}

/// Adds the forward layer for one token: rows have one element, and the caches stream through the
/// chip with the new key and value appended.
void add_decode(GraphBuilder& layer, const LlmShape& shape, Bytes word) {
  const std::int64_t h = shape.hidden, a = shape.heads, d = shape.head_dim;
  const std::int64_t f = shape.mlp_width(), context = shape.sequence, tokens = context + 1;
  const auto matrix = [word](std::int64_t rows, std::int64_t columns) {
    return word * (static_cast<double>(rows) * static_cast<double>(columns));
  };
  layer.elementwise("Add_Prev_Layer", 1, h, 1);
  couple(layer.elementwise("LayerNorm_1", 1, h, 1));
  for (const char* name : {"Q", "K", "V"}) {
    layer.weight_gemm(name, a, d, h, 1).sharded_memory = matrix(h, h);
  }
  for (const char* name : {"K_cache", "V_cache"}) {
    Kernel& cache = layer.elementwise(name, a, d, tokens);
    cache.mode = Mode::Systolic;
    cache.sharded_memory = matrix(h, context);
  }
  layer.gemm("MHA_GEMM_1", a, 1, d, tokens);
  couple(layer.elementwise("SOFTMAX", a, 1, tokens));
  layer.elementwise("DropOut_1", a, 1, tokens);
  layer.gemm("MHA_GEMM_2", a, d, tokens, 1);
  layer.weight_gemm("PROJ_GEMM", 1, h, h, 1).sharded_memory = matrix(h, h);
  layer.elementwise("DropOut_2", 1, h, 1);
  layer.elementwise2("Add_1", 1, h, 1);
  couple(layer.elementwise("LayerNorm_2", 1, h, 1));
  layer.weight_gemm("FFN0", 1, f, h, 1).sharded_memory = matrix(f, h);
  layer.elementwise("GeLU", 1, f, 1);
  layer.weight_gemm("FFN1", 1, h, f, 1).sharded_memory = matrix(f, h);
  layer.elementwise("DropOut_3", 1, h, 1);
  layer.elementwise2("Add_2", 1, h, 1);
  layer.connect(std::to_array<std::pair<int, int>>(
      {{1, 2},   {2, 3},   {2, 4},   {2, 5},   {4, 6},   {5, 7},   {3, 8},   {6, 8},
       {8, 9},   {9, 10},  {10, 11}, {7, 11},  {11, 12}, {12, 13}, {13, 14}, {1, 14},
       {14, 15}, {15, 16}, {16, 17}, {17, 18}, {18, 19}, {19, 20}, {14, 20}}));
  layer.hand_over(20, 1);
  layer.swap_operands(11);  // the cached values are its operand 1, as in the forward pass
}

}  // namespace

// Rows of intermediate results for each column: mean and variance, maximum and sum of exponentials,
// and the sums in their derivatives.
std::int64_t llm_coupled_rows(std::string_view kernel) {
  constexpr std::int64_t kNorm = 2, kSoftmax = 2, kSoftmaxBackward = 1;
  if (kernel == "SOFTMAX") return kSoftmax;
  if (kernel == "SOFTMAX_bwd") return kSoftmaxBackward;
  const bool norm =
      kernel == "LayerNorm_1" || kernel == "LayerNorm_2" || kernel == "LayerNorm_2_bwd";
  return norm ? kNorm : 0;
}

DataflowGraph llm_decode_graph(const LlmShape& shape, Bytes word) {
  GraphBuilder layer;
  add_decode(layer, shape, word);
  return std::move(layer).build();
}

DataflowGraph llm_forward_graph(const LlmShape& shape) {
  GraphBuilder layer;
  add_forward(layer, shape);
  return std::move(layer).build();
}

DataflowGraph llm_training_graph(const LlmShape& shape) {
  GraphBuilder layer;
  add_forward(layer, shape);
  add_backward(layer, shape);
  return std::move(layer).build();
}

}  // namespace dfsearch
