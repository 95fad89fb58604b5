#pragma once
// Short ways to write down kernels, machines and mappings, and random mappings
// for random problems.

#include <cstdint>
#include <string>
#include <vector>

#include "model/evaluate.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch::test {

/// Kernels with outer = 1, tiled on N: GEMMs systolic, the others SIMD.
Kernel weight_gemm(std::string name, std::int64_t m, std::int64_t k, std::int64_t n);
Kernel gemm(std::string name, std::int64_t m, std::int64_t k, std::int64_t n);
Kernel elementwise(std::string name, std::int64_t m, std::int64_t n);

Tensor tensor(std::size_t from, std::size_t to, int operand = 1);

/// `bandwidth` in bytes per second.
NetworkDimension dimension(Topology topology, std::int64_t degree, double bandwidth,
                           Strategy strategy = Strategy::Tensor);

/// Degrees and strategies as the system gives them.
std::vector<Mapping::Dimension> network_of(const System& system);

/// `count` kernels of 1 x 1 element without tensors, one chip that holds and
/// reaches everything, utilization 1: a world in which nothing is in the way.
Problem idle_problem(std::size_t count);

/// Every kernel unsharded (or on the first loop that may be sharded) and in
/// partition 0, one tile, micro-batch 1.
Mapping plain_mapping(const Problem& problem);

/// The cost of a mapping that fits; throws with the reason when it does not.
Cost cost_of(const Problem& problem, const Mapping& mapping);

/// Why the mapping does not fit; throws when it does.
Infeasible infeasible_of(const Problem& problem, const Mapping& mapping);

/// A mapping that respects tensors, phases and batch most of the time and
/// everything else by luck.  The same for the same seed on every machine.
Mapping random_mapping(const Problem& problem, std::uint64_t seed);

}  // namespace dfsearch::test
