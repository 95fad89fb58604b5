// Tiles that replace others against the best mappings with each.

#include "engine/mapping/tile_dominance.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/sharding/sharding_space.hpp"
#include "model/layer/shard.hpp"
#include "model/layer/sharding.hpp"
#include "support/brute_force.hpp"
#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

/// Number of pairs of tiles that replace each other; brute force checks each pair.
int replaced(std::uint64_t seed, bool joint, Style style) {
  Problem problem = test::random_problem(seed, {.kernels = 4, .assignments = 300, .joint = joint});
  problem.execution.style = style;
  problem.workload.micro_batch = 1;
  if (!can_compare_tiles(problem)) return 0;
  CoreOptionsCache cache;
  std::vector<TileCosts> costs;
  std::vector<Score> best;
  for (std::int64_t tile = 1; tile <= problem.workload.sequence; ++tile) {
    problem.workload.tile = tile;
    const LoopSets sets =
        joint ? ShardingSpace(problem).all() : loop_sets(least_bytes_sharding(problem));
    costs.emplace_back(problem,
                       LayerDecisions{.network = test::network_of(problem.system),
                                      .sharding = sets,
                                      .micro_batch = 1,
                                      .tile = tile},
                       cache);
    best.push_back(test::brute_force(problem).objective);
  }
  int count = 0;
  for (std::size_t a = 0; a < costs.size(); ++a) {
    for (std::size_t b = 0; b < costs.size(); ++b) {
      const auto tiles = [&](std::size_t i) {
        return ceil_div(problem.workload.sequence, static_cast<std::int64_t>(i) + 1);
      };
      if (tiles(a) == tiles(b) || !costs[a].no_more_than(costs[b])) continue;
      CAPTURE(seed);
      CAPTURE(a);
      CAPTURE(b);
      ++count;
      // A best mapping of b, with the tiles of a, fits and takes no longer.
      REQUIRE(best[a] <= best[b]);
    }
  }
  return count;
}

}  // namespace

TEST_CASE("tiles that replace others have a mapping that is at least as good, whatever is sharded" *
          doctest::test_suite("slow")) {
  int dataflow = 0;
  int joint = 0;
  int lone = 0;
  for (std::uint64_t seed = 0; seed < 700; ++seed) {
    dataflow += replaced(seed, false, Style::Dataflow);
    joint += replaced(seed, true, Style::Dataflow);
    lone += replaced(seed, seed % 2 == 0, Style::KernelByKernel);
  }
  CHECK(dataflow > 100);
  CHECK(joint > 100);
  CHECK(lone > 100);
}

}  // namespace dfsearch
