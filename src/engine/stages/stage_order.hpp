#pragma once
// The borders at which the graph may be cut into stages, for any costs (docs/search.md, section
// 17).

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "graph/dataflow_graph.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// For each kernel the kernels that every ideal with it contains, itself included.  Two kernels
/// that come before each other are in the same ideals.
using Before = std::vector<KernelSet>;

/// The least such relation in which the first kernel of each pair comes before the second.  Throws
/// Stopped.
Before come_before(std::size_t kernels,
                   const std::vector<std::pair<std::size_t, std::size_t>>& pairs,
                   const Deadline& deadline = {});

/// The ideals of the relation among these kernels, smaller ones first, from the empty set to the
/// set of all; nothing if there are more than `most`.  Throws Stopped.
std::optional<std::vector<KernelSet>> order_ideals(const Before& before, const KernelSet& kernels,
                                                   std::size_t most, const Deadline& deadline);

/// Limit of the borders that are searched, since stages are pairs of them.
inline constexpr std::size_t kMostStageIdeals = 3'000;

/// The borders of stages, from the beginning to the end: each is the set of all kernels before it.
struct StageOrder {
  /// Throws InputError if there are more than kMostStageIdeals borders, or ideals of the kernels of
  /// one phase.  Throws Stopped.
  StageOrder(const DataflowGraph& graph, const Deadline& deadline);

  Before before;                   ///< the order of kernels that the partitions of a stage keep
  std::vector<KernelSet> borders;  ///< smaller ones first
  KernelSet backward;              ///< the kernels of the backward phase
  std::size_t most_stages = 0;     ///< greatest number of non-empty stages
};

}  // namespace dfsearch
