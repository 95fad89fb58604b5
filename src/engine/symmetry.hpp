#pragma once
// Kernels that can be exchanged without changing anything: experts, twin weight
// updates, heads written out one by one.

#include <vector>

#include "engine/kernel_order.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Pairs (u, v), u before v in the list, such that some mapping that is first
/// among the best has u in no later partition than v; together they hold for
/// the same mapping.  `sharding` is per kernel.
KernelOrder::Pairs symmetry_order(const Problem& problem, const std::vector<Loop>& sharding);

}  // namespace dfsearch
