// A layer, and what the first and the last stage have beside their layers.
//
// A layer begins with INPUT, a kernel that stands for the sum at the end of the layer before:
// its value has two consumers, the first norm and the first residual sum.  Names and extents
// are those of docs/transformers.md, section 2; the totals are compared with the closed forms
// of transformer.hpp in tests/graph/workloads/transformer_graph_test.cpp.

#include "graph/workloads/llm/transformer_graph.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/number.hpp"
#include "graph/workloads/llm/layer_parts.hpp"

namespace dfsearch {
namespace {

using ValueId = ValueGraph::ValueId;

ValueId write_layer(ValueGraph& graph, const Transformer& model, const TransformerPass& pass,
                    bool decode) {
  LayerWriter layer(graph, model, pass, decode);
  const ValueId input = layer.source("INPUT", model.hidden);
  ValueId attended = layer.attention_half(layer.norm("NORM_1", 1, model.hidden, input));
  if (model.post_norm) attended = layer.norm("NORM_3", 1, model.hidden, attended);
  const ValueId middle = layer.sum("ADD_1", {attended, input});
  const ValueId normed = layer.norm("NORM_2", 1, model.hidden, middle);
  std::vector<ValueId> sums;
  if (model.experts && !pass.dense) {
    sums = layer.experts(normed);
  } else {
    sums = {layer.mlp("", model.mlp, model.bias == Bias::All, normed)};
  }
  if (model.dropout) sums.front() = layer.dropout("DROPOUT_3", 1, sums.front());
  if (model.post_norm) sums.front() = layer.norm("NORM_4", 1, model.hidden, sums.front());
  sums.push_back(middle);
  const ValueId result = layer.sum("ADD_2", sums);
  graph.hand_over(result, input);
  return result;
}

/// Bytes that a decode pass reads for a kernel from memory, for all its samples.
Bytes read_bytes(const Kernel& kernel, const Transformer& model, const TransformerPass& pass) {
  double elements = number(kernel.parameters);
  if (kernel.has_weight()) {
    double matrices = number(kernel.outer);
    const bool routed = model.experts && kernel.name.starts_with("EXPERT_");
    if (routed) matrices = touched_experts(*model.experts, pass.tokens);
    elements += matrices * number(kernel.m) * number(kernel.k);
  }
  if (kernel.kind == KernelKind::Attention) {
    const std::int64_t seen =
        model.window > 0 ? std::min(model.window, pass.context) : pass.context;
    const double token = model.latent
                             ? number(model.latent->key_value_rank + model.latent->rope_dim)
                             : number(model.kv_heads) * number(model.head_dim + model.value_dim);
    elements += token * number(seen) * number(pass.tokens);
  }
  return pass.word * elements;
}

void read_from_memory(ValueGraph& graph, const Transformer& model, const TransformerPass& pass) {
  for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
    graph.kernel(k).sharded_memory = read_bytes(graph.kernel(k), model, pass);
  }
}

/// Inference drops nothing.
Transformer without_dropout(Transformer model) {
  model.dropout = false;
  return model;
}

constexpr std::int64_t kLoss = 5, kLossBackward = 8;

}  // namespace

DataflowGraph transformer_forward_graph(const Transformer& model, const TransformerPass& pass) {
  ValueGraph graph;
  write_layer(graph, without_dropout(model), pass, false);
  return graph.build();
}

DataflowGraph transformer_training_graph(const Transformer& model, const TransformerPass& pass) {
  ValueGraph graph;
  graph.add_backward(write_layer(graph, model, pass, false), false);
  return graph.build();
}

DataflowGraph transformer_decode_graph(const Transformer& model, const TransformerPass& pass) {
  ValueGraph graph;
  TransformerPass fused = pass;
  fused.fused = true;
  write_layer(graph, without_dropout(model), fused, true);
  read_from_memory(graph, model, pass);
  return graph.build();
}

DataflowGraph transformer_first_graph(const Transformer& model, const TransformerPass& pass,
                                      bool training) {
  ValueGraph graph;
  LayerWriter end(graph, model, pass, false);
  Kernel kernel = end.elementwise("EMBED", 1, model.hidden, 1);
  kernel.parameters = (model.vocabulary + model.positions) * model.hidden;
  const ValueId embedded = graph.add({.kernel = kernel, .inputs = {}});
  if (training) graph.add_backward(embedded, false);
  return graph.build();
}

DataflowGraph transformer_last_graph(const Transformer& model, const TransformerPass& pass,
                                     bool training) {
  ValueGraph graph;
  LayerWriter end(graph, model, pass, false);
  const ValueId input = end.source("INPUT", model.hidden);
  const ValueId head = end.weight_gemm("UNEMBED", 1, model.vocabulary, model.hidden,
                                       end.norm("NORM_F", 1, model.hidden, input));
  if (!training) return graph.build();
  const ValueId logits = graph.part(head, end.rows_of_bits(model.vocabulary, kLogitBits));
  Kernel kernel = end.elementwise("LOSS", 1, model.vocabulary, kLoss);
  kernel.coupled = kSoftmaxSums;
  const ValueId loss = graph.add({.kernel = kernel,
                                  .inputs = {{.value = logits}},
                                  .saved = {logits},
                                  .backward_flops = kLossBackward});
  graph.add_backward(loss, true);
  return graph.build();
}

}  // namespace dfsearch
