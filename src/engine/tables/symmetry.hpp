#pragma once
// Kernels that can be exchanged without changing anything: experts, twin weight
// updates, heads written out one by one.

#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "engine/tables/kernel_order.hpp"
#include "graph/loop_set.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The first pair (u, v) of each exchange that changes neither the graph nor costs nor the
/// remaining loops; u precedes v in the graph's list.  This function and the next throw Stopped.
std::vector<std::pair<std::size_t, std::size_t>> exchangeable_kernels(
    const Problem& problem, const LoopSets& sharding, const Deadline& deadline = {});

std::vector<Exchange> find_exchanges(const Problem& problem, const LoopSets& sharding,
                                     const Deadline& deadline = {});

}  // namespace dfsearch
