#pragma once
// Order ideals of kernels: sets that hold, with each kernel, all that must come before it.

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// For each kernel all that every ideal with it holds, itself included.  Kernels that come before
/// each other are in an ideal together or not at all.
using Before = std::vector<KernelSet>;

/// The least such relation in which the first of each pair comes before the second.
Before come_before(std::size_t kernels,
                   const std::vector<std::pair<std::size_t, std::size_t>>& pairs);

/// The ideals of the relation among these kernels, smaller ones first, from none of them to all;
/// nothing if there are more than `most`.  Throws Stopped.
std::optional<std::vector<KernelSet>> order_ideals(const Before& before, const KernelSet& kernels,
                                                   std::size_t most, const Deadline& deadline);

}  // namespace dfsearch
