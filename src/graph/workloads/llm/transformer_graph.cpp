#include "graph/workloads/llm/transformer_graph.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "base/counts.hpp"
#include "graph/workloads/llm/layer_parts.hpp"

// A layer, and the kernels that the first and the last stage have beside their layers.
//
// A layer begins with INPUT, a kernel that stands for the sum at the end of the layer before: its
// value has two consumers, the first norm and the first residual sum.  Names and extents follow
// docs/transformers.md, section 2; the totals are compared with the closed forms of transformer.hpp
// in tests/graph/workloads/transformer_graph_test.cpp.

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
    if (routed) {
      matrices = touched_experts(*model.experts, pass.tokens);
      elements = matrices * number(kernel.parameters) / number(model.experts->count);
    }
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

/// Inference drops nothing.
Transformer without_dropout(Transformer model) {
  model.dropout = false;
  return model;
}

constexpr std::int64_t kLoss = 5, kLossBackward = 8;

}  // namespace

void read_from_memory(ValueGraph& graph, const Transformer& model, const TransformerPass& pass) {
  for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
    graph.kernel(k).sharded_memory += read_bytes(graph.kernel(k), model, pass);
  }
}

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
  graph.kernel(1).parameters += model.end_vectors;  // the norm
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

// Layers joined at their seams.
//
// A seam (DataflowGraph::seams) becomes a tensor between two layers of the graph.  A seam that
// leaves the last layer of its pass stays a seam, to the next graph.

namespace {

class Unrolling {
 public:
  explicit Unrolling(const std::vector<const DataflowGraph*>& layers)
      : graphs_(layers), places_(layers.size()) {}

  DataflowGraph run() {
    for (std::size_t i = 0; i < graphs_.size(); ++i) {
      places_[i].resize(graphs_[i]->kernel_count());
      add_kernels(i, Phase::Forward);
    }
    for (std::size_t i = graphs_.size(); i-- > 0;) add_kernels(i, Phase::Backward);
    for (std::size_t i = 0; i < graphs_.size(); ++i) refer_to_kernels(i);
    for (std::size_t i = 0; i < graphs_.size(); ++i) {
      for (const Tensor& tensor : graphs_[i]->tensors()) {
        tensors_.push_back(between(tensor, i, tensor.to, i));
      }
      for (std::size_t seam = 0; seam < graphs_[i]->seams().size(); ++seam) add_seam(seam, i);
    }
    return {std::move(kernels_), std::move(tensors_), std::move(seams_)};
  }

 private:
  void add_kernels(std::size_t layer, Phase phase) {
    for (std::size_t k = 0; k < graphs_[layer]->kernel_count(); ++k) {
      const Kernel& kernel = graphs_[layer]->kernels()[k];
      if (kernel.phase != phase) continue;
      places_[layer][k] = kernels_.size();
      kernels_.push_back(kernel);
      kernels_.back().name = "L" + std::to_string(layer + 1) + "." + kernel.name;
    }
  }

  void refer_to_kernels(std::size_t layer) {
    for (std::size_t k = 0; k < graphs_[layer]->kernel_count(); ++k) {
      for (const auto member : {&Kernel::weight_of, &Kernel::backward_of}) {
        const std::optional<KernelId> other = graphs_[layer]->kernels()[k].*member;
        if (!other) continue;
        kernels_[places_[layer][k]].*member = KernelId(places_[layer][other->index()]);
      }
    }
  }

  /// The tensor from its producer in layer `from` to the consumer `to` in layer `layer`.
  Tensor between(Tensor tensor, std::size_t from, KernelId to, std::size_t layer) {
    tensor.from = KernelId(places_[from][tensor.from.index()]);
    tensor.to = KernelId(places_[layer][to.index()]);
    return tensor;
  }

  /// Adds a seam from a layer to the next layer, or to the layer before if it is backward.  Seams
  /// of the same number in different layers belong together.
  void add_seam(std::size_t number, std::size_t layer) {
    const Tensor& seam = graphs_[layer]->seams()[number];
    if (seam.next_step) {
      seams_.push_back(between(seam, layer, seam.to, layer));
      return;
    }
    const bool is_last = layer + 1 == graphs_.size();
    const std::size_t next = is_last ? 0 : layer + 1;
    const Tensor& other = graphs_[next]->seams()[number];
    const bool forward = graphs_[layer]->kernel(seam.from).phase == Phase::Forward;
    (is_last ? seams_ : tensors_)
        .push_back(forward ? between(seam, layer, other.to, next)
                           : between(other, next, seam.to, layer));
  }

  const std::vector<const DataflowGraph*>& graphs_;
  std::vector<std::vector<std::size_t>> places_;  // indices into `kernels_`, by layer and kernel
  std::vector<Kernel> kernels_;
  std::vector<Tensor> tensors_;
  std::vector<Tensor> seams_;
};

}  // namespace

DataflowGraph unrolled_layers(const std::vector<const DataflowGraph*>& layers) {
  if (layers.size() == 1) return *layers.front();
  return Unrolling(layers).run();
}

}  // namespace dfsearch
