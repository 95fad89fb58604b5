#pragma once
// The graph of a large one-dimensional FFT.  fft.cpp has its algebra.

#include <cstdint>

#include "graph/dataflow_graph.hpp"

namespace dfsearch {

/// A one-dimensional FFT as two passes over a square matrix and a transposition.
/// `length >= 1`, `radix >= 2`.
DataflowGraph fft_graph(std::int64_t length, std::int64_t radix, Bytes word);
/// The side of the matrix: the whole part of the root of the length.
std::int64_t fft_side(std::int64_t length);
/// The real multiplications of a pass for a column and point, the K of its GEMM.
/// From radix 3 on it never falls when the radix grows; that of 2 is that of 4.
std::int64_t fft_depth(std::int64_t side, std::int64_t radix);

}  // namespace dfsearch
