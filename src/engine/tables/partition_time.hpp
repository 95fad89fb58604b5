#pragma once
// Time of a partition, from the sums over its kernels.

#include <cstddef>
#include <span>
#include <vector>

#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// Sums over the kernels of a partition; the memory time has all tensors that cross its border.
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

/// Time without the division of the cores: a lower bound if the kernels share them, else exact.
[[nodiscard]] Ticks least_partition_time(const FusionTables& tables, const SummedTimes& sums);

/// Time with the best division of the cores among kernels with the given options, which are empty
/// where a utilization is given; kNever if the cores do not suffice.  At most kNever.
[[nodiscard]] Ticks partition_time(const FusionTables& tables, const SummedTimes& sums,
                                   std::span<const std::vector<CoreOption>* const> options);

[[nodiscard]] Ticks time_alone(const FusionTables& tables, std::size_t kernel);

}  // namespace dfsearch
