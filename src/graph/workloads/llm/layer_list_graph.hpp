#pragma once
// The graph of a model of several kinds of layers: one period of its layer list
// (docs/transformers.md, section 2).

#include <cstdint>
#include <string>

#include "graph/dataflow_graph.hpp"
#include "graph/workloads/llm/transformer_graph.hpp"

namespace dfsearch {

enum class PassKind : std::uint8_t { Training, Prefill, Decode };

/// Consecutive layers of a model as one graph, or the reason why there is none.
struct LayerListGraph {
  DataflowGraph graph;
  std::int64_t layers = 0;  ///< layers of the graph, a divisor of the layers of the model
  std::string why;          ///< names the block or the layers; empty with a graph
};

/// The length of the shortest period of the layer list; the number of all layers if there is none.
std::int64_t period_of(const MixedLayers& mixed);

/// `model` has layers of several kinds.  The graph has `layers` layers, a multiple of the period
/// and a divisor of the layers of the model.  If `layers` is 0, it has one period; a list without a
/// period then has no graph.
LayerListGraph layer_list_graph(const Transformer& model, const TransformerPass& pass,
                                PassKind kind, std::int64_t layers);

/// Bytes that stay of a sequence of `context` tokens: keys and values in words of the model, and
/// states of scans in 32 bits.
Bytes kept_of_sequence(const MixedLayers& mixed, std::int64_t context, Bytes word);

}  // namespace dfsearch
