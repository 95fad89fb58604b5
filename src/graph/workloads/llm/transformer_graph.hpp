#pragma once
// The graphs of a transformer, by rule from its shape (docs/transformers.md, section 2).

#include <cstdint>
#include <vector>

#include "graph/dataflow_graph.hpp"
#include "graph/workloads/llm/transformer.hpp"

namespace dfsearch {

/// The extents and kind of a pass over a layer.
struct TransformerPass {
  std::int64_t tokens = 1;   ///< tokens of a sample; in a decode pass, samples with one token each
  std::int64_t context = 0;  ///< tokens before these, whose keys and values are cached
  Bytes word{2.0};
  bool fused = true;    ///< attention is one kernel
  bool causal = false;  ///< fused attention skips masked pairs
  /// Whether this is one of the first layers, without experts, of a model with experts.
  bool dense = false;
};

/// One layer, from INPUT, which stands for the output of the layer before, to ADD_2.
DataflowGraph transformer_forward_graph(const Transformer& model, const TransformerPass& pass);
/// The forward graph with its backward kernels.
DataflowGraph transformer_training_graph(const Transformer& model, const TransformerPass& pass);
/// One token for each of `tokens` samples after `context` others: weights and caches are read from
/// memory once, and nothing is tiled.  Attention is fused, and reads latents if the model has them.
DataflowGraph transformer_decode_graph(const Transformer& model, const TransformerPass& pass);

/// The kernel of the first stage before its layers: the look-up of the embedding.  The model has a
/// vocabulary.
DataflowGraph transformer_first_graph(const Transformer& model, const TransformerPass& pass,
                                      bool training);
/// The kernels of the last stage behind its layers: a norm, the head and, in training, the loss.
DataflowGraph transformer_last_graph(const Transformer& model, const TransformerPass& pass,
                                     bool training);

/// One graph of consecutive layers, which are joined at their seams.  Each layer is a graph of
/// llm_training_graph() or of a transformer, with equal numbers of seams.  Kernels of layer 2 are
/// named L2.Q and so on.  Forward kernels come first, in the order of the layers; backward kernels
/// follow in reverse order of the layers.
DataflowGraph unrolled_layers(const std::vector<const DataflowGraph*>& layers);
inline DataflowGraph unrolled_layers(const DataflowGraph& layer, std::int64_t layers) {
  return unrolled_layers(std::vector(static_cast<std::size_t>(layers), &layer));
}

}  // namespace dfsearch
