#include "engine/tables/kernel_order.hpp"

#include <algorithm>

namespace dfsearch {

KernelOrder::KernelOrder(const DataflowGraph& graph, const std::vector<Exchange>& exchanges,
                         const Deadline& deadline)
    : ids_(graph.topological_order().begin(), graph.topological_order().end()),
      positions_(ids_.size()) {
  // No tensor leads from a backward to a forward kernel, so the order stays topological.
  std::stable_partition(ids_.begin(), ids_.end(),
                        [&](KernelId k) { return graph.kernel(k).phase == Phase::Forward; });
  for (std::size_t p = 0; p < ids_.size(); ++p) positions_[ids_[p].index()] = p;
  find_descendants(graph, deadline);
  for (const Exchange& exchange : exchanges) add_exchange(exchange);
}

void KernelOrder::find_descendants(const DataflowGraph& graph, const Deadline& deadline) {
  descendants_.assign(ids_.size(), KernelSet(ids_.size()));
  for (std::size_t p = ids_.size(); p-- > 0;) {
    deadline.check();
    descendants_[p].insert(p);
    for (const TensorId t : graph.outputs(ids_[p])) {
      descendants_[p] |= descendants_[position(graph.tensor(t).to)];
    }
  }
}

void KernelOrder::add_exchange(const Exchange& exchange) {
  KernelPairs pairs;
  for (const auto& [u, v] : exchange) {
    pairs.emplace_back(std::min(position(u), position(v)), std::max(position(u), position(v)));
  }
  std::sort(pairs.begin(), pairs.end());
  exchanges_.push_back(std::move(pairs));
}

/// Applies exchanges until none improves the ideal.  An exchange improves it if, in the first pair
/// of which the ideal has only one kernel, this kernel is the later one.
KernelSet KernelOrder::representative(KernelSet ideal) const {
  for (bool changed = true; changed;) {
    changed = false;
    for (const KernelPairs& exchange : exchanges_) {
      const auto differs = [&](const auto& pair) {
        return ideal.contains(pair.first) != ideal.contains(pair.second);
      };
      const auto first = std::find_if(exchange.begin(), exchange.end(), differs);
      if (first == exchange.end() || ideal.contains(first->first)) continue;
      changed = true;
      for (const auto& [a, b] : exchange) {
        if (ideal.contains(a) == ideal.contains(b)) continue;
        const bool has_first = ideal.contains(a);
        ideal.erase(has_first ? a : b);
        ideal.insert(has_first ? b : a);
      }
    }
  }
  return ideal;
}

}  // namespace dfsearch
