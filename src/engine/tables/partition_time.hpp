#pragma once
// Time of a partition, from the sums over its kernels.

#include <cstddef>
#include <span>
#include <vector>

#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// Sums over the kernels of a partition; the memory time includes all tensors that cross its
/// border.
struct SummedTimes {
  Ticks compute = 0;
  Ticks network = 0;
  Ticks memory = 0;
  OnChipTimes on_chip{};  ///< 0 unless levels take time

  /// Adds the times of a kernel, without the traffic of its tensors.
  void add(const KernelCosts& kernel) {
    compute += kernel.compute;
    network += kernel.network;
    memory += kernel.explicit_memory;
    for (std::size_t x = 0; x < on_chip.size(); ++x) on_chip[x] += kernel.on_chip[x];
  }
};

/// Time from the sums alone: exact at a given utilization, else a lower bound, since dividing the
/// cores among the kernels may take longer.
[[nodiscard]] Ticks least_partition_time(const FusionTables& tables, const SummedTimes& sums);

/// Time with the best division of the cores among kernels with these options, at most kNever;
/// kNever if the cores do not suffice.  `options` is empty if a utilization is given.
[[nodiscard]] Ticks partition_time(const FusionTables& tables, const SummedTimes& sums,
                                   std::span<const std::vector<CoreOption>* const> options);

[[nodiscard]] Ticks time_alone(const FusionTables& tables, std::size_t kernel);

}  // namespace dfsearch
