#include "engine/tables/kernel_order.hpp"

#include <algorithm>
#include <numeric>

namespace dfsearch {

KernelOrder::KernelOrder(const DataflowGraph& graph, Symmetry symmetry, const Deadline& deadline)
    : pairs_(std::move(symmetry.order)),
      by_orbits_(symmetry.by_orbits),
      ids_(graph.topological_order().begin(), graph.topological_order().end()),
      positions_(ids_.size()) {
  // No tensor leads from a backward to a forward kernel: it stays topological.
  std::stable_partition(ids_.begin(), ids_.end(),
                        [&](KernelId k) { return graph.kernel(k).phase == Phase::Forward; });
  for (std::size_t p = 0; p < ids_.size(); ++p) positions_[ids_[p].index()] = p;

  std::vector<std::vector<std::size_t>> followers(ids_.size());
  if (!pairs_.empty()) tensor_descendants_ = closure(graph, followers, deadline);
  for (const auto& [u, v] : pairs_) followers[position(u)].push_back(position(v));
  descendants_ = closure(graph, followers, deadline);

  for (const Symmetry::Pairs& pairs : symmetry.exchanges) add_exchange(pairs);
  find_alike();
}

std::vector<KernelSet> KernelOrder::closure(const DataflowGraph& graph,
                                            const std::vector<std::vector<std::size_t>>& followers,
                                            const Deadline& deadline) const {
  std::vector<KernelSet> after(ids_.size(), KernelSet(ids_.size()));
  for (std::size_t p = ids_.size(); p-- > 0;) {
    deadline.check();
    after[p].insert(p);
    for (const TensorId t : graph.outputs(ids_[p])) {
      after[p] |= after[position(graph.tensor(t).to)];
    }
    for (const std::size_t follower : followers[p]) after[p] |= after[follower];
  }
  return after;
}

void KernelOrder::add_exchange(const Symmetry::Pairs& pairs) {
  Exchange exchange;
  for (const auto& [u, v] : pairs) {
    exchange.emplace_back(std::min(position(u), position(v)), std::max(position(u), position(v)));
  }
  std::sort(exchange.begin(), exchange.end());
  exchanges_.push_back(std::move(exchange));
}

/// Sorts by exchanges of neighbours: where two kernels differ that are exchanged first, the
/// earlier one shall be done.
KernelSet KernelOrder::representative(KernelSet ideal) const {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Exchange& exchange : exchanges_) {
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

/// Union and find: what exchanges join is alike.
void KernelOrder::find_alike() {
  first_alike_.resize(ids_.size());
  std::iota(first_alike_.begin(), first_alike_.end(), std::size_t{0});
  const auto first = [&](std::size_t p) {
    while (first_alike_[p] != p) p = first_alike_[p];
    return p;
  };
  for (const Exchange& exchange : exchanges_) {
    for (const auto& [a, b] : exchange) {
      const std::size_t x = first(a);
      const std::size_t y = first(b);
      first_alike_[std::max(x, y)] = std::min(x, y);
    }
  }
  for (std::size_t& p : first_alike_) p = first(p);
}

}  // namespace dfsearch
