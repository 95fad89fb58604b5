#pragma once
// The graph of High-Performance Linpack.  hpl.cpp has its algebra.

#include <cstdint>

#include "graph/dataflow_graph.hpp"

namespace dfsearch {

/// The first `iterations` steps of a block LU factorization of an n x n matrix.
/// `iterations * block <= n`.
DataflowGraph hpl_graph(std::int64_t n, std::int64_t block, std::int64_t iterations, Bytes word);

}  // namespace dfsearch
