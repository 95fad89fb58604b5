#pragma once
// The order in which the fusion search sees the kernels: what of a graph does
// not depend on tiles, sharding or costs, computed once for all outer points.

#include <cstddef>
#include <utility>
#include <vector>

#include "graph/dataflow_graph.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// Kernels are numbered by their position in a topological order, forward ones
/// first.  Immutable.
class KernelOrder {
 public:
  using Pairs = std::vector<std::pair<KernelId, KernelId>>;

  /// `pairs` (u, v) ask for u in no later partition than v, beyond what tensors
  /// do; u is before v in the topological order of the graph
  /// (engine/symmetry.hpp).
  explicit KernelOrder(const DataflowGraph& graph, Pairs pairs = {});

  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  [[nodiscard]] KernelId id(std::size_t position) const { return ids_[position]; }
  [[nodiscard]] std::size_t position(KernelId id) const { return positions_[id.index()]; }
  [[nodiscard]] const Pairs& pairs() const { return pairs_; }

  /// The kernel and all that come after it by tensors or pairs.
  [[nodiscard]] const KernelSet& descendants(std::size_t position) const {
    return descendants_[position];
  }

 private:
  Pairs pairs_;
  std::vector<KernelId> ids_;
  std::vector<std::size_t> positions_;
  std::vector<KernelSet> descendants_;
};

}  // namespace dfsearch
