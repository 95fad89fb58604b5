#pragma once
// Small worlds whose stages divide the graph, and the search that tries everything.

#include <cstdint>

#include "model/problem.hpp"

namespace dfsearch::test {

/// Up to six kernels, some of two layers, some with a backward pass, on up to four stages.  The
/// same problem for the same seed on every machine.
Problem random_stages(std::uint64_t seed);

struct BestStages {
  double objective = 0.0;  ///< infinite: nothing fits
  std::int64_t feasible = 0;
  std::int64_t skipping = 0;  ///< feasible worlds in which a tensor skips a stage
};

/// All kernels in all partitions of all stages, costed by the plain model.
BestStages best_stages(const Problem& problem);

}  // namespace dfsearch::test
