#pragma once
// Where the graph may be cut into stages, whatever the costs (docs/search.md, section 17).

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "graph/dataflow_graph.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// For each kernel all that every ideal with it holds, itself included.  Kernels that come before
/// each other are in an ideal together or not at all.
using Before = std::vector<KernelSet>;

/// The least such relation with the first of each pair before the second.  Throws Stopped.
Before come_before(std::size_t kernels,
                   const std::vector<std::pair<std::size_t, std::size_t>>& pairs,
                   const Deadline& deadline = {});

/// The ideals of the relation among these kernels, smaller ones first, from none of them to all;
/// nothing if there are more than `most`.  Throws Stopped.
std::optional<std::vector<KernelSet>> order_ideals(const Before& before, const KernelSet& kernels,
                                                   std::size_t most, const Deadline& deadline);

/// More are not searched: the stages are pairs of them.
inline constexpr std::size_t kMostStageIdeals = 3'000;

/// The borders of stages, from the beginning to the end: each is the set of all kernels before it.
struct StageOrder {
  /// Throws InputError for a graph of more than kMostStageIdeals borders, or with more sets of
  /// kernels of one phase that may be done before the others; Stopped.
  StageOrder(const DataflowGraph& graph, const Deadline& deadline);

  Before before;                   ///< the order that partitions in a stage may not change
  std::vector<KernelSet> borders;  ///< smaller ones first
  KernelSet backward;              ///< kernels of that phase
  std::size_t most_stages = 0;     ///< that may all hold a kernel
};

}  // namespace dfsearch
