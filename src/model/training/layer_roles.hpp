#pragma once
// The roles of the kernels of a transformer layer in layouts, by the names of docs/transformers.md,
// section 2.

#include <cstdint>
#include <optional>
#include <string_view>

#include "graph/dataflow_graph.hpp"

namespace dfsearch::training {

enum class KernelRole : std::uint8_t {
  Source,             ///< INPUT, GRADIENT: values of another layer
  Embedding,          ///< the look-up
  EmbeddingGradient,  ///< the gradient of the table
  Elementwise,        ///< an element of each input makes one of the output
  Sum,                ///< elementwise sum of all inputs
  Loss,
  Spread,            ///< copies rows of tokens to their experts: DISPATCH, and backward COMBINE
  Collect,           ///< the weighted sum of the rows: COMBINE, and backward DISPATCH
  Attention,         ///< fused attention
  Product,           ///< product of two streamed inputs, of which the last has the keys or values
  ProductOfQueries,  ///< product of two streamed inputs, summed over the queries
  WeightProduct,     ///< product of a weight and a streamed input
  DataGradient,      ///< product of the transposed weight of another kernel and a streamed input
  WeightGradient,
};

/// The boundaries at which the rows of a kernel, or of the weight whose gradient it computes, may
/// be split.
enum class RowUnit : std::uint8_t {
  Row,          ///< anywhere
  QueryHead,    ///< between heads
  KeyHead,      ///< between heads of keys and values, which several heads of queries may share
  All,          ///< nowhere: every element is, or depends on, a whole column
  RoutedTable,  ///< nowhere: all chips have the weight of the router
  Expert,       ///< anywhere, within an expert or between experts
};

struct LayerRole {
  KernelRole role = KernelRole::Elementwise;
  RowUnit unit = RowUnit::All;
};

/// The role of a kernel of a graph of graph/workloads/llm/transformer_graph.hpp.  A kernel with an
/// unknown name counts as one whose rows are not split.
LayerRole role_of(const DataflowGraph& graph, KernelId kernel);

/// Whether an input of attention is the part of a key that all heads share in latent attention.
bool is_shared_key(const DataflowGraph& graph, TensorId input);

/// Whether the kernel computes the keys and values of all heads from latents.
bool is_of_latents(const DataflowGraph& graph, KernelId kernel);

/// The input whose gradient a value of backward attention is.
TensorId differentiated(const DataflowGraph& graph, const Tensor& gradient);

std::optional<KernelId> find_kernel(const DataflowGraph& graph, std::string_view name);

}  // namespace dfsearch::training
