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
  EmbeddingGradient,  ///< of the table
  Elementwise,        ///< an element of each input makes one of the output
  Sum,                ///< elementwise sum of all inputs
  Loss,
  Spread,            ///< copies rows of tokens to their experts: DISPATCH, and backward COMBINE
  Collect,           ///< the weighted sum of the rows: COMBINE, and backward DISPATCH
  Attention,         ///< fused
  Product,           ///< of two streamed inputs: the last one belongs to the keys
  ProductOfQueries,  ///< the same, summed over the queries
  WeightProduct,     ///< of a weight and a streamed input
  DataGradient,      ///< the same with the weight of another, which it transposes
  WeightGradient,
};

/// Where the rows of a kernel, or of the weight whose gradient it computes, may be split.
enum class RowUnit : std::uint8_t {
  Row,          ///< anywhere
  QueryHead,    ///< between heads
  KeyHead,      ///< between heads of keys and values, which several heads of queries may share
  All,          ///< nowhere: every element needs, or is, a whole column
  RoutedTable,  ///< nowhere: of the weight of the router, which all chips have
  Expert,       ///< anywhere within an expert, or between experts
};

struct LayerRole {
  KernelRole role = KernelRole::Elementwise;
  RowUnit unit = RowUnit::All;
};

/// The role of a kernel of a graph of graph/workloads/llm/transformer_graph.hpp.  A kernel with an
/// unknown name counts as one whose rows are not split.
LayerRole role_of(const DataflowGraph& graph, KernelId kernel);

/// Whether an input of attention is the key that all heads share, as latent attention has it.
bool is_shared_key(const DataflowGraph& graph, TensorId input);

/// Whether the kernel computes the keys and values of all heads from latents.
bool is_of_latents(const DataflowGraph& graph, KernelId kernel);

/// The input whose gradient a value of backward attention is.
TensorId differentiated(const DataflowGraph& graph, const Tensor& gradient);

std::optional<KernelId> find_kernel(const DataflowGraph& graph, std::string_view name);

}  // namespace dfsearch::training
