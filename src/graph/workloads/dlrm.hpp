#pragma once
// The graph of a recommendation model (DLRM).  dlrm.cpp has its algebra.

#include <cstdint>

#include "graph/dataflow_graph.hpp"

namespace dfsearch {

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

}  // namespace dfsearch
