#pragma once
// The order in which the fusion search decides the kernels.  It does not depend on tiles, sharding
// or costs, so it is computed once for all outer points.

#include <cstddef>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/memory_budget.hpp"
#include "graph/dataflow_graph.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// Pairs of kernels.  Exchanging the two kernels of every pair changes neither graph nor costs.
using Exchange = std::vector<std::pair<KernelId, KernelId>>;
/// Pairs of positions in ascending order; each pair has the earlier position first.
using KernelPairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// Numbers the kernels by their position in a topological order with all forward kernels first.
/// Immutable.
class KernelOrder {
 public:
  /// Throws Stopped.
  explicit KernelOrder(const DataflowGraph& graph, const std::vector<Exchange>& exchanges = {},
                       const Deadline& deadline = {});

  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  [[nodiscard]] KernelId id(std::size_t position) const { return ids_[position]; }
  [[nodiscard]] std::size_t position(KernelId id) const { return positions_[id.index()]; }

  /// For each kernel the set of the kernel and its descendants.
  [[nodiscard]] const std::vector<KernelSet>& descendants() const { return descendants_; }

  [[nodiscard]] const std::vector<KernelPairs>& exchanges() const { return exchanges_; }
  /// The ideal that represents all images of `ideal` under exchanges.  Mostly, but not always, all
  /// images have the same representative.
  [[nodiscard]] KernelSet representative(KernelSet ideal) const;

  /// Memory of the sets of descendants, nearly all that the order takes.
  [[nodiscard]] std::size_t heap_bytes() const {
    return descendants_.size() * (sizeof(KernelSet) + size() / 8 + kAllocation);
  }

 private:
  void find_descendants(const DataflowGraph& graph, const Deadline& deadline);
  void add_exchange(const Exchange& exchange);

  std::vector<KernelId> ids_;
  std::vector<std::size_t> positions_;
  std::vector<KernelSet> descendants_;
  std::vector<KernelPairs> exchanges_;
};

}  // namespace dfsearch
