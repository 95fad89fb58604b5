#pragma once
// What a kernel reads of a tensor: whether the shapes of both agree, and which rows each part of
// the kernel needs (docs/model.md, sections 1 and 4).

#include <optional>
#include <string>

#include "graph/dataflow_graph.hpp"

namespace dfsearch {

/// What part of the rows of a tensor a chip needs for its part of the rows of the consumer.
enum class RowUse : std::uint8_t {
  Same,    ///< the same part
  All,     ///< all of them: every head reads them, or every row does
  Summed,  ///< rows of every group of the producer, which are added up: those of experts
};

/// `tensor` is one of the graph, or a seam.
RowUse row_use(const DataflowGraph& graph, const Tensor& tensor);

/// How many heads the tensor has for the heads of its consumer: of keys and values that several
/// heads of queries share fewer than `outer`.
std::int64_t shared_heads(const DataflowGraph& graph, const Tensor& tensor);

/// What is wrong with the shapes of what a kernel reads as one operand, of which the tensor is the
/// first; nothing if they agree, or if it is no such tensor.
std::optional<std::string> wrong_shape(const DataflowGraph& graph, TensorId tensor);
bool has_wrong_shape(const DataflowGraph& graph);

}  // namespace dfsearch
