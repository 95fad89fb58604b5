#pragma once
// The tables of one outer point.

#include <cstdint>
#include <memory>

#include "engine/mapping/mapping_problem.hpp"

namespace dfsearch::test {

/// Of the point that comes first or last, by the seed: that with the largest or the smallest
/// tile.  Kernels that are alike are in their order.  It refers to the problem.
inline std::shared_ptr<const FusionContext> open_point(const Problem& problem, std::uint64_t seed) {
  const auto points = outer_points(problem);
  return MappingProblem(problem).for_ties({}).open(seed % 2 == 0 ? points.front() : points.back());
}

/// As the search for any of the best mappings sees it: alike groups of kernels are in no order.
inline std::shared_ptr<const FusionContext> open_point_in_any_order(const Problem& problem,
                                                                    std::uint64_t seed) {
  const auto points = outer_points(problem);
  return MappingProblem(problem).open(seed % 2 == 0 ? points.front() : points.back());
}

}  // namespace dfsearch::test
