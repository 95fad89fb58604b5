// The graph of a recommendation model.
//
// A dense tower of equal MLPs runs on each chip's own samples (data parallelism).  The embedding
// tables are too large to be replicated and are spread over the chips.  At the kernel where the
// pooled embeddings join the bottom tower, every chip reads its tables for the samples of all chips
// and sends each chip the embeddings of its samples: explicit memory traffic and an all-to-all over
// the whole machine.  The backward pass sends the gradients of the embeddings back the same way,
// and each MLP gets a weight update whose output is all-reduced over the replicas.
//
// Nothing is tiled: a chip takes its local batch at once.  Kernels and tensors follow
// docs/model.md, section 9.

#include "graph/workloads/generators.hpp"

#include <string>
#include <utility>

#include "graph/graph_builder.hpp"

namespace dfsearch {
namespace {

std::string mlp_name(std::int64_t number) { return "MLP_" + std::to_string(number); }

/// Adds a product with the weight of an MLP; the product of `bottom` carries the embeddings.
void add_mlp(GraphBuilder& graph, const DlrmShape& shape, std::string name, bool embeddings) {
  Kernel& kernel = graph.weight_gemm(std::move(name), 1, shape.mlp, shape.mlp, shape.local_batch);
  kernel.tiled = Loop::None;
  if (!embeddings) return;
  kernel.memory = shape.memory;
  kernel.communication =
      Communication{.type = CommunicationType::AllToAll, .bytes = shape.all_to_all};
}

void add_forward(GraphBuilder& graph, const DlrmShape& shape) {
  for (std::int64_t i = 1; i <= shape.bottom + shape.top; ++i) {
    add_mlp(graph, shape, mlp_name(i), i == shape.bottom);
  }
}

void add_backward(GraphBuilder& graph, const DlrmShape& shape) {
  const std::int64_t n = shape.bottom + shape.top;
  graph.begin_backward();
  for (std::int64_t i = n; i >= 1; --i) {
    add_mlp(graph, shape, mlp_name(i) + "_bwd", i == shape.bottom);
  }
  for (std::int64_t i = n; i >= 1; --i) {
    Kernel& update = graph.weight_update(mlp_name(i) + "_bwd_weight_update", shape.mlp,
                                         shape.local_batch, shape.mlp);
    update.tiled = Loop::None;
    update.communication->type = CommunicationType::FlatGradientAllReduce;
    graph.share_weight(mlp_name(i), mlp_name(i) + "_bwd");
  }
}

}  // namespace

DataflowGraph dlrm_inference_graph(const DlrmShape& shape) {
  GraphBuilder graph;
  add_forward(graph, shape);
  for (std::int64_t i = 1; i < shape.bottom + shape.top; ++i) graph.connect(i, i + 1);
  return std::move(graph).build();
}

DataflowGraph dlrm_training_graph(const DlrmShape& shape) {
  const std::int64_t n = shape.bottom + shape.top;
  GraphBuilder graph;
  add_forward(graph, shape);
  add_backward(graph, shape);
  // Kernel n + j is the backward kernel of MLP n + 1 - j, and kernel 2n + j is its update, with the
  // output of the MLP before and the gradient of the MLP after as inputs.
  for (std::int64_t i = 1; i < n; ++i) graph.connect(i, i + 1);
  for (std::int64_t j = 1; j < n; ++j) graph.connect(n + j, n + j + 1);
  for (std::int64_t i = 1; i < n; ++i) graph.connect(i, 3 * n - i);
  for (std::int64_t j = 1; j < n; ++j) graph.connect(n + j, 2 * n + j + 1);
  return std::move(graph).build();
}

}  // namespace dfsearch
