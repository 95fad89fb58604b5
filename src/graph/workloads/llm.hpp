#pragma once
// The graph of one layer of a transformer.  llm.cpp has its algebra.

#include <cstdint>
#include <string_view>

#include "graph/dataflow_graph.hpp"

namespace dfsearch {

/// The extents of a transformer (docs/model.md, section 9).
struct LlmShape {
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;  ///< heads * head_dim = hidden
  std::int64_t sequence = 0;
  std::int64_t mlp = 0;  ///< width of the feed-forward layers; 0: 4 * hidden

  [[nodiscard]] std::int64_t mlp_width() const { return mlp > 0 ? mlp : 4 * hidden; }
};

/// One transformer layer, forward: 18 kernels, 21 tensors.
DataflowGraph llm_forward_graph(const LlmShape& shape);
/// Forward, backward and weight updates: 41 kernels, 53 tensors.
DataflowGraph llm_training_graph(const LlmShape& shape);
/// One token after `shape.sequence` others, whose keys and values are cached: 20
/// kernels, 23 tensors.  Weights and caches are read from memory for every token.
DataflowGraph llm_decode_graph(const LlmShape& shape, Bytes word);

/// `Kernel::coupled` of the kernel of that name in these graphs; 0 for any other name.
std::int64_t llm_coupled_rows(std::string_view kernel);

}  // namespace dfsearch
