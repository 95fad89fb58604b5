#pragma once
// A workload: the graph of one layer and how often it runs.

#include <cstdint>
#include <optional>
#include <string>

#include "graph/dataflow_graph.hpp"

namespace dfsearch {

/// What all dimensions of the network serve, where the workload decides it.
enum class NetworkUse : std::uint8_t {
  Free,    ///< the system says, or the search
  Tensor,  ///< one copy of the work spread over all chips
  Data,    ///< replicas
};

/// A request to a served model, for its latency and rate (docs/model.md, section 7).
struct Serving {
  bool decode = false;      ///< a sample is one token of many; else it is a prompt
  std::int64_t tokens = 1;  ///< tokens of a sample
  Bytes boundary{};         ///< what a stage hands the next for it; tensor chips share it

  friend bool operator==(const Serving&, const Serving&) = default;
};

/// The embedding tables of a recommendation model.  What it costs depends on their
/// product alone, which is in `Workload::stored`.
struct EmbeddingTables {
  std::int64_t tables = 1;
  std::int64_t rows = 1;       ///< rows of a table
  std::int64_t embedding = 1;  ///< elements of a row
};

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
  /// Independent copies of the workload side by side, each on its share of the chips.
  std::int64_t copies = 1;
  NetworkUse network_use = NetworkUse::Free;
  Bytes stored{};  ///< held in memory beside weights and activations, by all chips of a copy
  /// The kernels work in memory, in blocks of any size: SRAM is no limit, and
  /// memory holds `stored` and nothing else.
  bool out_of_core = false;
  std::optional<Serving> serving = std::nullopt;
  std::optional<EmbeddingTables> embedding_tables = std::nullopt;  ///< kinds of DLRM have them

  /// The FLOP of a whole step of one copy.
  /// docs/model.md (4)
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

/// A recommendation model (docs/model.md, section 9): towers of equal MLPs, and
/// embedding tables spread over the chips of a copy.
struct DlrmShape {
  std::int64_t mlp = 0;          ///< width
  std::int64_t bottom = 0;       ///< MLPs before the embeddings join, at least 1
  std::int64_t top = 0;          ///< MLPs after
  std::int64_t local_batch = 0;  ///< samples of one chip at a time
  Bytes all_to_all{};            ///< bytes one chip sends in all when embeddings change hands
  Bytes memory{};                ///< bytes it reads from tables, or writes, meanwhile
};

/// The chain of bottom + top MLPs.
DataflowGraph dlrm_inference_graph(const DlrmShape& shape);
/// With backward kernels and weight updates: three times as many kernels.
DataflowGraph dlrm_training_graph(const DlrmShape& shape);

/// The first `iterations` steps of a block LU factorization of an n x n matrix.
/// `iterations * block <= n`.
DataflowGraph hpl_graph(std::int64_t n, std::int64_t block, std::int64_t iterations, Bytes word);

/// A one-dimensional FFT as two passes over a square matrix and a transposition.
/// `length >= 1`, `radix >= 2`.
DataflowGraph fft_graph(std::int64_t length, std::int64_t radix, Bytes word);
/// The side of the matrix: the whole part of the root of the length.
std::int64_t fft_side(std::int64_t length);
/// The real multiplications of a pass for a column and point, the K of its GEMM.
/// From radix 3 on it never falls when the radix grows; that of 2 is that of 4.
std::int64_t fft_depth(std::int64_t side, std::int64_t radix);

}  // namespace dfsearch
