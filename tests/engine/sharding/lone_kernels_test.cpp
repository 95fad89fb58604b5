// The best sharding kernel by kernel against all of them.

#include "engine/sharding/sharding_completion.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/sharding/sharding_space.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/layer/lone_kernel.hpp"
#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

/// Every choice of one loop of each set.
std::vector<LoopSets> all_of(const LoopSets& sets) {
  std::vector<LoopSets> all{{}};
  for (const LoopSet set : sets) {
    std::vector<LoopSets> longer;
    for (const LoopSets& first : all) {
      for (const LoopPair loop : set) {
        longer.push_back(first);
        longer.back().push_back(loop);
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace

TEST_CASE("kernel by kernel the least sum is that of the best sharding left") {
  int searched = 0;
  int refused = 0;
  int hidden = 0;  // from what takes the least of each number by itself
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    CAPTURE(seed);
    Problem problem = test::random_problem(seed, {.kernels = 5, .assignments = 400, .joint = true});
    problem.execution.style = Style::KernelByKernel;
    // Whether weights are loaded once a step depends on all kernels, and is not in the sum.
    if (seed % 2 == 0) problem.equations.weight_traffic = WeightTraffic::Resident;
    const bool is_sum = problem.equations.weight_traffic != WeightTraffic::PerStep;
    const LoopSets sets = ShardingSpace(problem).all();
    if (is_decided(sets)) continue;
    CoreOptionsCache cache;
    LayerDecisions decisions{.network = test::network_of(problem.system),
                             .sharding = sets,
                             .micro_batch = 1,
                             .tile = 1 + static_cast<std::int64_t>(seed % 3)};
    decisions.tile = std::min(decisions.tile, problem.workload.sequence);
    const auto best = best_lone_sharding(problem, decisions, cache, {});
    if (!best) {  // past what doubles count by ones
      ++refused;
      continue;
    }
    CHECK(sets[best->branch_on].size() > 1);
    const LayerCosts relaxed(problem, decisions, 0, &cache);
    CHECK(best->clock == relaxed.clock());
    CHECK(best->time >= kernel_by_kernel_time(problem, relaxed));
    hidden += best->time > kernel_by_kernel_time(problem, relaxed);
    ++searched;
    Ticks least = kNever;
    for (const LoopSets& one : all_of(sets)) {
      decisions.sharding = one;
      const Ticks time =
          kernel_by_kernel_time(problem, LayerCosts(problem, decisions, best->clock, &cache));
      least = std::min(least, time);
      if (is_sum && one == loop_sets(best->sharding)) CHECK(time == best->time);
      // In its own ticks, which may be longer, it takes no less.
      const LayerCosts own(problem, decisions, 0, &cache);
      REQUIRE(own.clock().seconds(kernel_by_kernel_time(problem, own)) >=
              best->clock.seconds(best->time));
    }
    REQUIRE(best->time <= least);
    if (is_sum) REQUIRE(best->time == least);
  }
  CHECK(searched > 300);
  CHECK(refused < 10);
  CHECK(hidden > 20);
}

}  // namespace dfsearch
