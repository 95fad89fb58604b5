// The graph of High-Performance Linpack.
//
// A block LU factorization: iteration i factors a panel of `block` columns and
// updates the square behind it, whose side shrinks by a block each time.  The
// update dominates and stands for the iteration.  The matrix lies on a grid of X x Y
// chips; the panel is broadcast along one side of the grid while rows are
// swapped along the other, over different links and so at the same time.
//
// The matrix lives in memory and passes through the chip in blocks of any size,
// so SRAM is no limit.  Kernels follow docs/model.md, section 9.

#include "graph/workloads/hpl.hpp"

#include <string>
#include <utility>

#include "graph/graph_builder.hpp"

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

}  // namespace dfsearch
