#pragma once
// Kernels that have the same dual.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// The kernels of each class.
using KernelClasses = std::vector<std::vector<std::size_t>>;

/// Kernels that may be exchanged for each other.
[[nodiscard]] KernelClasses exchanged_kernels(const FusionTables& tables);

/// For each kernel the number of its look: what it and its tensors cost, and, unless looks are then
/// too many, how its neighbours look.  Kernels that look alike may be anywhere in the graph.
[[nodiscard]] std::vector<std::uint32_t> kernel_looks(const FusionTables& tables);

/// By the number of each kernel's class.
[[nodiscard]] KernelClasses kernels_by(const std::vector<std::uint32_t>& classes);

/// Whether there are few looks of many kernels each.
[[nodiscard]] bool are_mostly_alike(const FusionTables& tables);

}  // namespace dfsearch
