#pragma once
// The judge of the search: every mapping, costed by the plain model.

#include <cstdint>
#include <optional>

#include "model/evaluate.hpp"
#include "model/problem.hpp"

namespace dfsearch::test {

struct BruteForceResult {
  std::optional<Mapping> mapping;  ///< one of the best
  Score objective = Score::infinity();
  std::int64_t tried = 0;
  std::int64_t feasible = 0;
};

/// Tries every network, every tile of 1..sequence, every micro-batch that divides, and every
/// assignment of kernels to partitions 0..limit-1, under the least-bytes
/// sharding or every one, as the problem asks; the ones it fixes are kept.
BruteForceResult brute_force(const Problem& problem);

}  // namespace dfsearch::test
