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
std::vector<Mapping::Dimension> network_of(const Machine& system);

/// `count` kernels of 1 x 1 element without tensors, one chip that holds and
/// reaches everything, utilization 1: a world in which nothing is in the way.
Problem idle_problem(std::size_t count);

/// Every kernel unsharded (or on the first loop that may be sharded) and in
/// partition 0, one tile, micro-batch 1.
Mapping plain_mapping(const Problem& problem);

/// A (6 x 4) -> B (8 x 6 times 6 x 4) -> C (8 x 4), words of 2 B, two tiles of 2.
/// Tensor degree 2, so sharded on K B holds 8 x 3.  Per tile
///
///   A  6 x 2       12 FLOP x 2 tiles =  24    A -> B  6 x 2 x 2 B = 24 B
///   B  8 x 3 x 2   96 FLOP x 2 tiles = 192    B -> C  8 x 2 x 2 B = 32 B
///   C  8 x 2       16 FLOP x 2 tiles =  32    weight  8 x 3 x 2 B = 48 B
///
/// Half the peak of 2 x 2 x 2 x 4 x 10 = 320 FLOP/s: 0.15 s, 1.2 s and 0.2 s.  Memory
/// at 40 B/s: A -> B once is 2 x 24 / 40 = 1.2 s, B -> C once 1.6 s.  B all-reduces
/// 32 B per tile at 80 B/s on a ring of two: 2 x 2 x 1/2 x 32 / 80 = 0.8 s.
///
/// Three layers on two stages: two each.  12 samples on two replicas: 6, or three
/// micro-batches of 2; bubble 1 + 1 / (3 x 2); factor 7/6 x 2 x 6 = 14.  Handing on
/// 2 x 10 B three times, over two stages of two layers, at 5 B/s: 12 s.
Problem example();
/// A and B in partition 0, C in partition 1, unless told otherwise; tiles and micro-batch
/// of 2, B sharded on K.
Mapping example_mapping(std::vector<std::int64_t> partition = {0, 0, 1});

/// The cost of a mapping that fits; throws with the reason when it does not.
Cost cost_of(const Problem& problem, const Mapping& mapping);

/// Why the mapping does not fit; throws when it does.
Infeasible infeasible_of(const Problem& problem, const Mapping& mapping);

/// A mapping that respects tensors, phases and batch most of the time and
/// everything else by luck.  The same for the same seed on every machine.
Mapping random_mapping(const Problem& problem, std::uint64_t seed);

}  // namespace dfsearch::test
