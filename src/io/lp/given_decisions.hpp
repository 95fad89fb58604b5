#pragma once
// The decisions outside the fusion, as a config or a mapping gives them.

#include "io/lp/solution.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Network, sharding, micro-batch and tile of `mapping`, or without one (null) of
/// the config: a micro-batch that it leaves open is 1, which is optimal, the
/// sharding that of least bytes.  Throws InputError naming every other decision
/// that is left open, or that no mapping of the problem can have.
LayerDecisions given_decisions(const Problem& problem, const Mapping* mapping);

/// The mapping that a solution stands for: what it does not decide is taken from
/// `mapping`, or from the config without one (null).  Throws InputError when the
/// partitions are missing.
Mapping mapping_of(const MilpSolution& solution, const Problem& problem, const Mapping* mapping);

}  // namespace dfsearch
