#pragma once
// Several layers of a transformer as one graph.

#include <cstdint>
#include <vector>

#include "graph/dataflow_graph.hpp"

namespace dfsearch {

/// Layers as llm.hpp or llm/transformer_graph.hpp makes them, one after the other, alike but for
/// what their attention sees: kernels of layer 2 are named L2.Q and so on, forward ones of the first
/// layer come first, backward ones of the last.  Seams join them.
DataflowGraph unrolled_layers(const std::vector<const DataflowGraph*>& layers);
/// So many of one kind.
inline DataflowGraph unrolled_layers(const DataflowGraph& layer, std::int64_t layers) {
  return unrolled_layers(std::vector(static_cast<std::size_t>(layers), &layer));
}

}  // namespace dfsearch
