#pragma once
// Where the graph may be cut into stages, whatever the costs (docs/search.md, section 17).

#include <cstddef>
#include <vector>

#include "base/deadline.hpp"
#include "engine/stages/order_ideals.hpp"
#include "graph/dataflow_graph.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// More are not searched: the stages are pairs of them.
inline constexpr std::size_t kMostStageIdeals = 3'000;

/// The borders of stages, from the beginning to the end: each is the set of all kernels before it.
struct StageOrder {
  /// Throws InputError for a graph of more than kMostStageIdeals borders, or of as many sets of
  /// kernels of one phase that may be done before the others; Stopped.
  StageOrder(const DataflowGraph& graph, const Deadline& deadline);

  Before before;                   ///< in a stage: what partitions may not change the order of
  std::vector<KernelSet> borders;  ///< smaller ones first
  KernelSet backward;              ///< kernels of that phase
  std::size_t most_stages = 0;     ///< that may all hold a kernel
};

}  // namespace dfsearch
