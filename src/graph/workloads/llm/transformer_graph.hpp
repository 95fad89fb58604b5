#pragma once
// The graphs of a transformer, by rule from its shape (docs/transformers.md, section 2).

#include <cstdint>

#include "graph/dataflow_graph.hpp"
#include "graph/workloads/llm/transformer.hpp"

namespace dfsearch {

/// What a pass over a layer goes over, and how.
struct TransformerPass {
  std::int64_t tokens = 1;   ///< of a sample; of a decode pass the samples, each with one token
  std::int64_t context = 0;  ///< tokens before these, whose keys and values are cached
  Bytes word{2.0};
  bool fused = true;    ///< attention is one kernel
  bool causal = false;  ///< fused attention skips masked pairs
  /// Of a model with experts: a layer without them, one of the first.
  bool dense = false;
};

/// One layer, from INPUT, which stands for what the layer before computes, to ADD_2.
DataflowGraph transformer_forward_graph(const Transformer& model, const TransformerPass& pass);
/// The same with the backward kernels that follow from it.
DataflowGraph transformer_training_graph(const Transformer& model, const TransformerPass& pass);
/// One token for each of `tokens` samples after `context` others: weights and caches are read
/// from memory once, and nothing is tiled.  Attention is fused, and reads latents where the
/// model has them.
DataflowGraph transformer_decode_graph(const Transformer& model, const TransformerPass& pass);

/// What the first stage has before its layers: the look-up of the embedding.  The model has a
/// vocabulary.
DataflowGraph transformer_first_graph(const Transformer& model, const TransformerPass& pass,
                                      bool training);
/// What the last stage has behind its layers: a norm, the head and, in training, the loss.
DataflowGraph transformer_last_graph(const Transformer& model, const TransformerPass& pass,
                                     bool training);

}  // namespace dfsearch
