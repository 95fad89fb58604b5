#pragma once
// A workload: the graph of one layer and how often it runs.

#include <cstdint>
#include <optional>
#include <string>

#include "graph/dataflow_graph.hpp"

namespace dfsearch {

struct Workload {
  std::string kind = "graph";  ///< the generator's name in a config
  DataflowGraph graph;         ///< one layer, one sample
  Bytes word{2.0};             ///< bytes of one element
  std::int64_t layers = 1;
  std::int64_t global_batch = 1;  ///< samples per step, over all data-parallel replicas
  /// Extent of the tiled loop (the sequence); 1: nothing is tiled.
  std::int64_t sequence = 1;
  std::optional<std::int64_t> micro_batch;  ///< searched when left out
  std::optional<std::int64_t> tile;  ///< elements of `sequence` per tile; searched when left out
  /// What one pipeline stage hands the next for one sample, in each direction
  /// that the graph has (forward, and backward when it trains).
  Bytes boundary{};

  /// FLOP of a whole step.
  [[nodiscard]] Flops flops() const {
    return graph.flops() * static_cast<double>(layers) * static_cast<double>(global_batch);
  }
};

/// The extents of a transformer (docs/model.md, section 9).
struct LlmShape {
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;  ///< heads * head_dim = hidden
  std::int64_t sequence = 0;
};

/// One transformer layer, forward: 18 kernels, 21 tensors.
DataflowGraph llm_forward_graph(const LlmShape& shape);
/// Forward, backward and weight updates: 41 kernels, 53 tensors.
DataflowGraph llm_training_graph(const LlmShape& shape);

}  // namespace dfsearch
