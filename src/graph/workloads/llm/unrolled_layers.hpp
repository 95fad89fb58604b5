#pragma once
// Several layers of a transformer as one graph.

#include <cstdint>

#include "graph/dataflow_graph.hpp"

namespace dfsearch {

/// A layer as llm.hpp or llm/transformer_graph.hpp makes it, so many times one after the other:
/// kernels of layer 2 are named L2.Q and so on, forward ones of the first layer come first,
/// backward ones of the last.  Seams join them.
DataflowGraph unrolled_layers(const DataflowGraph& layer, std::int64_t layers);

}  // namespace dfsearch
