#pragma once
// What the plain model says of a fusion.

#include <doctest/doctest.h>

#include <cstdint>
#include <variant>

#include "engine/mapping/mapping_problem.hpp"
#include "model/evaluate.hpp"
#include "model/layer/sharding.hpp"

namespace dfsearch::test {

/// The plain model finds that it fits and takes just that time in so many partitions.
inline void check_fusion(const Problem& problem, const MappingProblem& search, OuterPoint point,
                         const Fusion& fusion) {
  const MappingSolution solution{
      .cost = {}, .point = point, .sharding = least_bytes_sharding(problem), .fusion = fusion};
  const auto judged = evaluate(problem, search.mapping(solution));
  REQUIRE(std::holds_alternative<Cost>(judged));
  const Cost& cost = std::get<Cost>(judged);
  REQUIRE(cost.layer_ticks == fusion.time);
  REQUIRE(static_cast<std::int64_t>(cost.partitions.size()) == fusion.used);
}

}  // namespace dfsearch::test
