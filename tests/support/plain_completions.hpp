#pragma once
// The best ways to place what is left of the kernels, by trying every sequence of partitions.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/duals/duals.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_rules.hpp"
#include "support/plain_partitions.hpp"

namespace dfsearch::test {

/// Refers to the tables.  Pins, phases and the number of partitions count; the memory does
/// not.
class PlainCompletions {
 public:
  explicit PlainCompletions(const FusionTables& tables)
      : tables_(tables),
        partitions_(tables),
        limit_(static_cast<std::int32_t>(tables.problem().partition_limit())),
        halves_(tables.problem().equations.phases == SplitPhases::Halves &&
                tables.problem().workload.graph.has_backward()),
        best_((std::size_t{1} << tables.size()) * (static_cast<std::size_t>(limit_) + 1)) {
    for (Mask kernels = 0; kernels <= partitions_.all(); ++kernels) {
      const auto parts = kernels == 0 ? std::nullopt : partitions_.parts_of(kernels);
      times_.push_back(parts ? partitions_.time(*parts) : kNever);
    }
  }

  [[nodiscard]] const PlainPartitions& partitions() const { return partitions_; }
  [[nodiscard]] std::int32_t limit() const { return limit_; }
  [[nodiscard]] Ticks time(Mask kernels) const { return times_[kernels]; }

  /// The least time of the kernels of `rest` in partitions from `index` on; kNever: they
  /// cannot be placed.
  Ticks best(Mask rest, std::int32_t index) {
    if (rest == 0) return 0;
    if (index >= limit_) return kNever;
    std::optional<Ticks>& known =
        best_[rest * (static_cast<std::size_t>(limit_) + 1) + static_cast<std::size_t>(index)];
    if (known) return *known;
    Ticks least = has_pin_below(rest, index + 1) ? kNever : best(rest, index + 1);  // left empty
    for (Mask first = rest; first != 0; first = (first - 1) & rest) {
      const Mask left = rest & ~first;
      if (times_[first] >= kNever || !partitions_.is_rest(left) || !may_be_at(first, left, index)) {
        continue;
      }
      const Ticks after = best(left, index + 1);
      if (after < kNever) least = std::min(least, times_[first] + after);
    }
    return *(known = least);
  }

 private:
  [[nodiscard]] bool has_pin_below(Mask kernels, std::int32_t index) const {
    for (std::size_t p = 0; p < tables_.size(); ++p) {
      const std::int32_t pin = tables_.kernel(p).pin;
      if ((kernels & bit(p)) != 0 && pin >= 0 && pin < index) return true;
    }
    return false;
  }

  [[nodiscard]] bool may_be_at(Mask kernels, Mask left, std::int32_t index) const {
    bool forward_left = false;
    bool forward = false;
    bool backward = false;
    for (std::size_t p = 0; p < tables_.size(); ++p) {
      const KernelCosts& kernel = tables_.kernel(p);
      if ((kernels & bit(p)) != 0) {
        (kernel.backward ? backward : forward) = true;
        if (kernel.pin >= 0 && kernel.pin != index) return false;
      }
      forward_left |= (left & bit(p)) != 0 && !kernel.backward;
    }
    if (has_pin_below(left, index + 1)) return false;
    if (backward && forward_left) return false;
    if (!halves_) return !(forward && backward);
    return (!forward || index <= (limit_ - 1) / 2) && (!backward || index >= limit_ / 2);
  }

  const FusionTables& tables_;
  const PlainPartitions partitions_;
  const std::int32_t limit_;
  const bool halves_;
  std::vector<Ticks> times_;
  std::vector<std::optional<Ticks>> best_;
};

/// Charge of a partition of the kernels.
inline FineTicks charge_of(const Duals& duals, const FusionTables& tables, Mask kernels) {
  const auto first = static_cast<std::size_t>(std::countr_zero(kernels));
  return duals.charge[PartitionRules(tables).group(tables.kernel(first).backward)];
}

/// The duals of the kernels beyond the time of the partition and its charge.
inline FineTicks excess_of(const Duals& duals, const FusionTables& tables, Mask kernels,
                           Ticks time) {
  FineTicks excess = -time * kFinePerTick - charge_of(duals, tables, kernels);
  for (std::size_t p = 0; p < tables.size(); ++p) {
    if ((kernels & bit(p)) != 0) excess += duals.kernels[p];
  }
  return excess;
}

}  // namespace dfsearch::test
