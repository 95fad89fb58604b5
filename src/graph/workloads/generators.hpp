#pragma once
// The generators of workload graphs.  The file of each, such as lstm.cpp, explains its algebra.

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

/// A recommendation model (docs/model.md, section 9): towers of equal MLPs, and
/// embedding tables spread over the chips of a copy.
struct DlrmShape {
  std::int64_t mlp = 0;          ///< width
  std::int64_t bottom = 0;       ///< number of MLPs before the embeddings are joined, at least 1
  std::int64_t top = 0;          ///< number of MLPs after the embeddings are joined
  std::int64_t local_batch = 0;  ///< samples of one chip at a time
  Bytes all_to_all{};            ///< bytes that one chip sends in the all-to-all of embeddings
  Bytes memory{};                ///< bytes that one chip reads from tables or writes to them
};

/// The chain of bottom + top MLPs.
DataflowGraph dlrm_inference_graph(const DlrmShape& shape);
/// Includes backward kernels and weight updates: three times the kernels.
DataflowGraph dlrm_training_graph(const DlrmShape& shape);

/// A language model of LSTM layers (docs/model.md, section 9).  Each extent is at least 1.
struct LstmShape {
  std::int64_t hidden = 1;  ///< width
  std::int64_t vocabulary = 1;
  std::int64_t layers = 1;
  std::int64_t steps = 1;        ///< tokens of a sequence
  std::int64_t local_batch = 1;  ///< sequences of one chip at a time
  /// Whether products that wait for no earlier step are computed for all steps at once.
  bool folded = true;
};

/// Forward and backward: seven kernels, and seven more for each layer.
DataflowGraph lstm_graph(const LstmShape& shape, Bytes word);

/// The first `iterations` steps of a block LU factorization of an n x n matrix.
/// `iterations * block <= n`.
DataflowGraph hpl_graph(std::int64_t n, std::int64_t block, std::int64_t iterations, Bytes word);

/// A one-dimensional FFT as two passes over a square matrix and a transposition.
/// `length >= 1`, `radix >= 2`.
DataflowGraph fft_graph(std::int64_t length, std::int64_t radix, Bytes word);
/// The side of the matrix: the whole part of the root of the length.
std::int64_t fft_side(std::int64_t length);
/// The real multiplications of a pass for each column and point, which are the K of its GEMM.  From
/// radix 3 on the number never falls when the radix grows; radix 2 has the number of radix 4.
std::int64_t fft_depth(std::int64_t side, std::int64_t radix);

}  // namespace dfsearch
