#pragma once
// The graph of a language model of LSTM layers.  lstm.cpp has its algebra.

#include <cstdint>

#include "graph/dataflow_graph.hpp"

namespace dfsearch {

/// A language model of LSTM layers (docs/model.md, section 9).  Each is at least 1.
struct LstmShape {
  std::int64_t hidden = 1;  ///< width
  std::int64_t vocabulary = 1;
  std::int64_t layers = 1;
  std::int64_t steps = 1;        ///< tokens of a sequence
  std::int64_t local_batch = 1;  ///< sequences of one chip at a time
  bool folded = true;  ///< what waits for no step is done for all steps at once; else step by step
};

/// Forward and backward: seven kernels, and as many for each layer.
DataflowGraph lstm_graph(const LstmShape& shape, Bytes word);

}  // namespace dfsearch
