// The bound of an outer point against the time of mappings, where rounding could lift it above.

#include "engine/mapping/point_bound.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/loop_set.hpp"
#include "model/evaluate.hpp"
#include "model/layer/sharding.hpp"
#include "model/machine/network_choices.hpp"
#include "support/brute_force.hpp"
#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"
#include "support/stage_worlds.hpp"
#include "support/worlds.hpp"

namespace dfsearch {
namespace {

// Each kernel has one core, and all take equally long: the partition takes exactly the mean of
// their core-cycles.  In doubles the sum of 40,000 such quotients rounds up nearly every time.
TEST_CASE("the bound of forty thousand kernels is not above the mapping that reaches it") {
  constexpr std::size_t kernels = 40'000;
  constexpr std::int64_t cycles = 536'870'977;
  Problem problem = test::idle_problem(1);
  std::vector<Kernel> list;
  for (std::size_t i = 0; i < kernels; ++i) {
    list.push_back(test::elementwise("k" + std::to_string(i), 1, cycles));
  }
  problem.workload.graph = DataflowGraph(std::move(list), {});
  problem.system.accelerator.cores = kernels;
  problem.execution.compute_utilization.reset();
  const Mapping mapping = test::plain_mapping(problem);
  const Cost cost = test::cost_of(problem, mapping);
  REQUIRE(cost.layer_time == Seconds(static_cast<double>(cycles)));

  double sum = 0.0;
  for (std::size_t i = 0; i < kernels; ++i) {
    sum += static_cast<double>(cycles) / static_cast<double>(kernels);
  }
  REQUIRE(sum * (1.0 - 0x1p-40) > static_cast<double>(cycles));  // a fixed margin is too small

  const Seconds bound = least_layer_time(problem, mapping.network, 1, cost.micro_batches,
                                         loop_sets(mapping.sharding));
  CHECK(bound <= cost.layer_time);
  CHECK(bound.in_base_units() == doctest::Approx(cycles).epsilon(1e-10));
}

TEST_CASE("no mapping, and no stages, cost less than the work of the kernels" *
          doctest::test_suite("worlds")) {
  int near = 0, staged = 0;
  for (std::uint64_t seed = 0; seed < test::share_of(300U); ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed, {.kernels = 4, .assignments = 400});
    const Score best = test::brute_force(problem).objective;
    const Score least = least_score(problem, network_choices(problem), {});
    CHECK(least <= best);
    near += least.in_base_units() > 0.5 * best.in_base_units() ? 1 : 0;

    const Problem stages = test::random_stages(seed);
    const test::BestStages divided = test::best_stages(stages);
    if (divided.feasible == 0) continue;
    const Score floor = least_score(stages, network_choices(stages), {});
    CHECK(floor.in_base_units() <= divided.objective);
    staged += floor.in_base_units() > 0.5 * divided.objective ? 1 : 0;
  }
  CHECK(near > test::share_of(20));
  CHECK(staged > test::share_of(20));
}

TEST_CASE("no number of roundings lifts a sum above the exact one by more than the margin") {
  // n quotients x / n add up to x on paper.
  for (const std::size_t n : {1U, 3U, 10U, 1000U, 32'767U, 100'000U}) {
    for (std::int64_t x = (std::int64_t{1} << 29) + 1; x < (std::int64_t{1} << 29) + 40; ++x) {
      CAPTURE(n);
      CAPTURE(x);
      double sum = 0.0;
      for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(x) / static_cast<double>(n);
      REQUIRE(sum * less_roundings(n + 1) <= static_cast<double>(x));
    }
  }
}

}  // namespace
}  // namespace dfsearch
