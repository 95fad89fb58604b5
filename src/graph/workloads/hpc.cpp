#include "graph/workloads/generators.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "graph/graph_builder.hpp"

// The graph of High-Performance Linpack.
//
// A block LU factorization: iteration i factors a panel of `block` columns and updates the square
// behind it, whose side shrinks by a block each time.  The update dominates, so it alone models the
// iteration.  The matrix lies on a grid of X x Y chips; the panel is broadcast along one side of
// the grid while rows are swapped along the other, over different links and so at the same time.
//
// The matrix lives in memory and passes through the chip in blocks of any size,
// so SRAM is no limit.  Kernels follow docs/model.md, section 9.

namespace dfsearch {

DataflowGraph hpl_graph(std::int64_t n, std::int64_t block, std::int64_t iterations, Bytes word) {
  GraphBuilder graph;
  for (std::int64_t i = 0; i < iterations; ++i) {
    const std::int64_t side = n - i * block;
    const Bytes panel = word * (static_cast<double>(side) * static_cast<double>(block));
    Kernel& update = graph.gemm("Iteration_" + std::to_string(i + 1), 1, side, side, block);
    update.tiled = Loop::None;
    update.spread = Spread::Grid;
    update.communication = Communication{.type = CommunicationType::GridBroadcast, .bytes = panel};
    update.second_communication =
        Communication{.type = CommunicationType::GridPointToPoint, .bytes = panel};
    if (i > 0) graph.connect(i, i + 1);
  }
  return std::move(graph).build();
}

// The graph of a large one-dimensional FFT.
//
// Bailey's algorithm: with length = n * n the points form a square matrix; all
// columns are transformed, the matrix is transposed, and all columns are
// transformed again.  A transform of n points in radix r takes log_r(n) stages of n / r
// butterflies, each a product with an r x r matrix; real arithmetic takes four
// real products for a complex one.  Per column and point that is 4 * log_r(n) * r
// multiplications, the K of a GEMM.  Columns are spread over all chips, so the
// transposition is an all-to-all of the whole matrix.
//
// Like HPL, the FFT works in memory; see docs/model.md, section 9.

std::int64_t fft_side(std::int64_t length) {
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(length)));
  while (root * root > length) --root;
  while ((root + 1) * (root + 1) <= length) ++root;
  return root;
}

std::int64_t fft_depth(std::int64_t side, std::int64_t radix) {
  const double r = static_cast<double>(radix);
  const double products = std::floor(4.0 * std::log2(static_cast<double>(side)) / std::log2(r) * r);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(products));
}

DataflowGraph fft_graph(std::int64_t length, std::int64_t radix, Bytes word) {
  const std::int64_t n = fft_side(length);
  const std::int64_t k = fft_depth(n, radix);
  GraphBuilder graph;
  for (const char* name : {"Step_1", "Step_2"}) {
    Kernel& step = graph.weight_gemm(name, 1, n, k, n);
    step.tiled = Loop::None;
    step.spread = Spread::Machine;
    if (step.name == "Step_1") continue;
    const Bytes matrix = word * (static_cast<double>(n) * static_cast<double>(n));
    step.communication = Communication{.type = CommunicationType::Transpose, .bytes = matrix};
  }
  graph.connect(1, 2);
  return std::move(graph).build();
}

}  // namespace dfsearch
