#pragma once
// The kernels of a block with a state or a convolution (docs/transformers.md, section 2).

#include "graph/workloads/blocks/block.hpp"
#include "graph/workloads/llm/layer_parts.hpp"

namespace dfsearch {

/// Words of a state, for any word of the model.
inline constexpr Bytes kStateWord{4.0};

/// Whether scan_kernels() supports the block.
bool has_scan_kernels(const Block& block);

/// Adds the kernels of a block from its normed input, of width `hidden`, to the value that is added
/// to the input of the layer.  In a decode pass the state of each sample is read and written.
ValueGraph::ValueId scan_kernels(ValueGraph& graph, LayerWriter& layer, const Block& block,
                                 std::int64_t hidden, ValueGraph::ValueId normed);

}  // namespace dfsearch
