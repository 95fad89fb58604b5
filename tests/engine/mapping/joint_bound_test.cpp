// The bound of multipliers against every sharding and fusion, and by hand where weights are loaded.

#include "engine/mapping/point_bound.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "engine/sharding/sharding_space.hpp"
#include "model/evaluate.hpp"
#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

std::optional<JointBound> bound_of(const Problem& problem, const Mapping& mapping,
                                   const LoopSets& sets, std::int64_t micro_batches) {
  CoreOptionsCache cache;
  const LayerDecisions decisions{.network = mapping.network,
                                 .sharding = sets,
                                 .micro_batch = mapping.micro_batch,
                                 .tile = mapping.tile};
  return least_joint_time(problem, decisions, micro_batches, cache, {},
                          [](Seconds) { return false; });
}

// Compute takes 0.15 + 1.2 + 0.2 s and the network 0.8 s (support/model_worlds.hpp): nearly all the
// weight is on compute.
TEST_CASE("loading weights comes on top of compute and network") {
  Problem problem = test::example();
  const Mapping mapping = test::example_mapping();
  const LoopSets sets = loop_sets(mapping.sharding);
  problem.equations.weight_traffic = WeightTraffic::Resident;
  const Cost resident = test::cost_of(problem, mapping);
  const auto without = bound_of(problem, mapping, sets, resident.micro_batches);
  REQUIRE(without);
  CHECK(without->time.in_base_units() == doctest::Approx(1.55).epsilon(0.01));

  // 48 B at 40 B/s for each sample.
  problem.equations.weight_traffic = WeightTraffic::PerSample;
  const auto with = bound_of(problem, mapping, sets, resident.micro_batches);
  REQUIRE(with);
  CHECK((with->time - without->time).in_base_units() == doctest::Approx(1.2).epsilon(1e-9));
}

TEST_CASE("no mapping takes less than the bound of multipliers") {
  int tight = 0;
  int loaded = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    Problem problem = test::random_problem(seed, {.kernels = 4, .assignments = 400, .joint = true});
    if (problem.divides_graph()) continue;
    if (seed % 3 == 0) problem.equations.weight_traffic = WeightTraffic::PerSample;
    if (seed % 3 == 1) problem.equations.weight_traffic = WeightTraffic::PerStep;
    const Mapping mapping = test::random_mapping(problem, seed);
    const auto judged = evaluate(problem, mapping);
    const Cost* cost = std::get_if<Cost>(&judged);
    if (cost == nullptr || cost->spilled) continue;
    LoopSets sets = ShardingSpace(problem).all();
    for (std::size_t k = 0; k < sets.size(); ++k) sets[k].insert(mapping.sharding[k]);
    const auto all = bound_of(problem, mapping, sets, cost->micro_batches);
    const auto own = bound_of(problem, mapping, loop_sets(mapping.sharding), cost->micro_batches);
    REQUIRE(own);
    CHECK(own->sharding == mapping.sharding);
    REQUIRE(own->time <= cost->layer_time);
    if (all) REQUIRE(all->time <= cost->layer_time);
    tight += own->time > 0.98 * cost->layer_time;
    loaded += problem.equations.weight_traffic != WeightTraffic::Resident;
  }
  CHECK(tight > 50);
  CHECK(loaded > 50);
}

}  // namespace
}  // namespace dfsearch
