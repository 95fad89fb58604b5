#pragma once
// Colour refinement: kernels of one colour have the same dual.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// The kernels of each class.
using KernelClasses = std::vector<std::vector<std::size_t>>;

/// Colour of each kernel: the costs of itself and its tensors and, after up to three rounds of
/// refinement, the colours of its neighbours; coarser if colours exceed 48.  Kernels of one colour
/// may be anywhere in the graph.
[[nodiscard]] std::vector<std::uint32_t> kernel_colours(const FusionTables& tables);

/// The classes, given the number of each kernel's class.
[[nodiscard]] KernelClasses kernels_by(const std::vector<std::uint32_t>& classes);

/// Whether there are few colours, with many kernels each.
[[nodiscard]] bool are_mostly_alike(const FusionTables& tables);

}  // namespace dfsearch
