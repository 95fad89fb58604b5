#pragma once
// The tables of one outer point.

#include <cstdint>
#include <memory>

#include "engine/mapping/mapping_problem.hpp"

namespace dfsearch::test {

/// Opens the point that comes first or last, by the seed: the one with the largest or the smallest
/// tile.  It refers to the problem.
inline std::shared_ptr<const FusionContext> open_point(const Problem& problem, std::uint64_t seed) {
  const auto points = outer_points(problem);
  return MappingProblem(problem).open(seed % 2 == 0 ? points.front() : points.back());
}

}  // namespace dfsearch::test
