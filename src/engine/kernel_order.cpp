#include "engine/kernel_order.hpp"

#include <algorithm>

namespace dfsearch {

KernelOrder::KernelOrder(const DataflowGraph& graph, Pairs pairs)
    : pairs_(std::move(pairs)),
      ids_(graph.topological_order().begin(), graph.topological_order().end()),
      positions_(ids_.size()),
      descendants_(ids_.size(), KernelSet(ids_.size())) {
  // No tensor leads from a backward to a forward kernel: it stays topological.
  std::stable_partition(ids_.begin(), ids_.end(),
                        [&](KernelId k) { return graph.kernel(k).phase == Phase::Forward; });
  for (std::size_t p = 0; p < ids_.size(); ++p) positions_[ids_[p].index()] = p;

  std::vector<std::vector<std::size_t>> followers(ids_.size());
  for (const auto& [u, v] : pairs_) followers[position(u)].push_back(position(v));
  for (std::size_t p = ids_.size(); p-- > 0;) {
    descendants_[p].insert(p);
    for (const TensorId t : graph.outputs(ids_[p])) {
      descendants_[p] |= descendants_[position(graph.tensor(t).to)];
    }
    for (const std::size_t follower : followers[p]) descendants_[p] |= descendants_[follower];
  }
}

}  // namespace dfsearch
