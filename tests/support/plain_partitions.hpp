#pragma once
// One partition by its definition: which sets of kernels may be one, and what they take.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/tables/fusion_tables.hpp"
#include "model/layer/core_allocation.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch::test {

using Mask = std::uint32_t;  // kernels by their position

inline Mask bit(std::size_t p) { return Mask{1} << p; }

inline KernelSet set_of(std::size_t size, Mask kernels) {
  KernelSet set(size);
  for (std::size_t p = 0; p < size; ++p) {
    if ((kernels & bit(p)) != 0) set.insert(p);
  }
  return set;
}

inline Mask mask_of(const KernelSet& kernels) {
  Mask mask = 0;
  kernels.for_each([&](std::size_t p) { mask |= bit(p); });
  return mask;
}

/// Times of one partition, from the costs of kernels and tensors alone.
struct PartitionParts {
  Ticks compute = 0;
  Ticks memory = 0;
  Ticks network = 0;
};

/// Refers to the tables.
class PlainPartitions {
 public:
  explicit PlainPartitions(const FusionTables& tables)
      : problem_(tables.problem()),
        graph_(problem_.workload.graph),
        tables_(tables),
        costs_(tables.costs()),
        size_(tables.size()),
        places_(size_),
        before_(size_, 0) {
    for (std::size_t p = 0; p < size_; ++p) places_[tables.id(p).index()] = p;
    for (const Tensor& t : graph_.tensors()) before_[place(t.to)] |= bit(place(t.from));
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Mask all() const { return bit(size_) - 1; }

  /// Whether the complement of `rest` can be done already.
  [[nodiscard]] bool is_rest(Mask rest) const {
    for (std::size_t p = 0; p < size_; ++p) {
      if ((rest & bit(p)) == 0 && (before_[p] & rest) != 0) return false;
    }
    return true;
  }

  /// Whether the kernels can be the next ones once all they need is done: no path leaves them
  /// and comes back.
  [[nodiscard]] bool is_convex(Mask kernels) const {
    Mask after = 0;  // outside, behind some of them; positions are in topological order
    for (std::size_t p = 0; p < size_; ++p) {
      if ((kernels & bit(p)) != 0) {
        if ((before_[p] & after) != 0) return false;
      } else if ((before_[p] & (kernels | after)) != 0) {
        after |= bit(p);
      }
    }
    return true;
  }

  /// All sets that may be one partition of a fusion, as far as the set by itself tells.
  [[nodiscard]] std::vector<Mask> feasible() const {
    std::vector<Mask> sets;
    for (Mask kernels = 1; kernels <= all(); ++kernels) {
      if (is_convex(kernels) && parts_of(kernels)) sets.push_back(kernels);
    }
    return sets;
  }

  [[nodiscard]] Ticks time(const PartitionParts& parts) const {
    return overlapped(problem_.execution.overlap, parts.compute, parts.memory, parts.network);
  }

  /// Nothing if the kernels cannot share a partition.
  [[nodiscard]] std::optional<PartitionParts> parts_of(Mask kernels) const {
    PartitionParts parts;
    std::vector<KernelId> list;
    for (std::size_t p = 0; p < size_; ++p) {
      if ((kernels & bit(p)) != 0) list.push_back(tables_.id(p));
    }
    if (!may_be_together(list)) return std::nullopt;
    Bytes inputs{};
    Bytes others{};
    Bytes weights{};
    for (const KernelId k : list) {
      parts.network += costs_.network(k);
      parts.memory += costs_.explicit_memory(k);
      weights += costs_.resident_weight(k);
      inputs += costs_.held(k).inputs;
      others += costs_.held(k).outputs;
    }
    for (std::size_t i = 0; i < graph_.tensor_count(); ++i) {
      const TensorId t(i);
      const bool from = (kernels & bit(place(graph_.tensor(t).from))) != 0;
      const bool to = (kernels & bit(place(graph_.tensor(t).to))) != 0;
      if (from && to) others += costs_.fused_buffer(t);
      if (from == to) continue;
      parts.memory += costs_.transfer(t);
      (to ? inputs : others) += costs_.streamed_buffer(t);
    }
    const bool streams = problem_.equations.lone_kernels == LoneKernels::Streamed &&
                         problem_.equations.weight_pieces == WeightPieces::Free;
    const bool cut = graph_.kernel(list.front()).has_pieces() && inputs < tables_.sram();
    const bool fits_alone = list.size() == 1 && (streams || cut);
    if (inputs + others + weights > tables_.sram() && !fits_alone) return std::nullopt;
    const auto compute = compute_of(list);
    if (!compute) return std::nullopt;
    parts.compute = *compute;
    return parts;
  }

 private:
  [[nodiscard]] std::size_t place(KernelId k) const { return places_[k.index()]; }

  [[nodiscard]] bool may_be_together(const std::vector<KernelId>& list) const {
    const auto differ = [&](const auto& trait) {
      return std::any_of(list.begin(), list.end(),
                         [&](KernelId k) { return trait(k) != trait(list.front()); });
    };
    if (differ([&](KernelId k) { return graph_.kernel(k).repeat > 1; })) return false;
    const bool mixed =
        problem_.equations.phases == SplitPhases::Halves && problem_.partition_limit() % 2 == 1;
    if (!mixed && differ([&](KernelId k) { return graph_.kernel(k).phase; })) return false;
    std::optional<std::int64_t> pin;
    for (const KernelId k : list) {
      if (problem_.execution.pins.empty() || !problem_.execution.pins[k.index()]) continue;
      if (pin && *pin != *problem_.execution.pins[k.index()]) return false;
      pin = problem_.execution.pins[k.index()];
    }
    return true;
  }

  [[nodiscard]] std::optional<Ticks> compute_of(const std::vector<KernelId>& list) const {
    if (static_cast<std::int64_t>(list.size()) > tables_.cores()) return std::nullopt;
    if (problem_.execution.compute_utilization) {
      Ticks sum = 0;
      for (const KernelId k : list) sum += costs_.compute_at_utilization(k);
      return sum;
    }
    std::vector<const std::vector<CoreOption>*> options;
    for (const KernelId k : list) options.push_back(&costs_.options(k));
    return costs_.cycle_time(*least_cycles(options, tables_.cores()));
  }

  const Problem& problem_;
  const DataflowGraph& graph_;
  const FusionTables& tables_;
  const LayerCosts& costs_;
  const std::size_t size_;
  std::vector<std::size_t> places_;
  std::vector<Mask> before_;
};

}  // namespace dfsearch::test
