// The decisions outside the layer, and the way from ticks to the step and back.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/mapping/mapping_problem.hpp"
#include "engine/solve.hpp"
#include "model/layer/shard.hpp"
#include "model/machine/network_choices.hpp"
#include "support/children.hpp"
#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

using Node = MappingProblem::Node;

std::vector<std::int64_t> tiles_of(std::int64_t sequence) {
  Problem problem = test::idle_problem(1);
  problem.workload.sequence = sequence;
  std::vector<std::int64_t> tiles;
  for (const OuterPoint point : outer_points(problem)) {
    CHECK(point.micro_batch == 1);
    tiles.push_back(point.tile);
  }
  return tiles;
}

/// A pipeline whose transfers take the given time.
Problem with_transfer(Problem problem, double seconds) {
  problem.system.network.push_back(test::dimension(Topology::Ring, 2, 1.0, Strategy::Pipeline));
  problem.system.chips *= 2;
  problem.workload.boundary = Bytes(seconds);
  return problem;
}

}  // namespace

TEST_CASE("there is one tile for each number of tiles that can be, the largest") {
  for (std::int64_t sequence = 1; sequence <= 300; ++sequence) {
    CAPTURE(sequence);
    std::map<std::int64_t, std::int64_t> largest;  // by number of tiles
    for (std::int64_t tile = 1; tile <= sequence; ++tile) {
      std::int64_t& most = largest[ceil_div(sequence, tile)];
      most = std::max(most, tile);
    }
    std::vector<std::int64_t> expected;
    for (const auto& [count, tile] : largest) expected.push_back(tile);
    REQUIRE(tiles_of(sequence) == expected);
  }
}

TEST_CASE("long sequences have about twice the square root of their length in tiles") {
  const std::vector<std::int64_t> tiles = tiles_of(1'000'000);
  CHECK(tiles.size() == 1999);
  CHECK(tiles.front() == 1'000'000);
  CHECK(tiles.back() == 1);
}

TEST_CASE("a tile and a micro-batch that are given are the only ones") {
  Problem problem = test::idle_problem(1);
  problem.workload.sequence = 10;
  problem.workload.global_batch = 12;
  problem.workload.tile = 4;
  problem.workload.micro_batch = 3;
  CHECK(outer_points(problem) == std::vector<OuterPoint>{{.tile = 4, .micro_batch = 3}});
}

TEST_CASE("the closed-form bound of a point is not above what its fusions take") {
  int tight = 0;
  for (std::uint64_t seed = 0; seed < 2500; ++seed) {
    CAPTURE(seed);
    Problem problem = test::random_problem(seed);
    const MappingProblem search(problem);
    test::Children points;
    search.branch(search.root(), points);
    REQUIRE(points.nodes.size() == outer_points(problem).size());
    for (const Node& node : points.nodes) {
      problem.workload.tile = node.point->tile;
      const SearchResult result = solve(problem, {});
      if (!result.cost) continue;
      CHECK(search.bound(node) <= result.cost->objective);
      tight += search.bound(node) > 0.99 * result.cost->objective;
    }
  }
  CHECK(tight > 500);
}

TEST_CASE("the points of a network are listed when it comes up again, if its weights fit") {
  // Two chips: two stages of two layers, or two copies of all three.  A layer has 96 B of
  // weights.
  Problem problem = test::example();
  problem.system.chips = 2;
  problem.system.network = {test::dimension(Topology::Ring, 2, 80.0)};
  problem.system.network[0].strategy = std::nullopt;
  problem.parallelism[static_cast<std::size_t>(Strategy::Tensor)].most = 1;
  const auto bounds_at_root = [](const MappingProblem& search) {
    test::Children networks;
    search.branch(search.root(), networks);
    REQUIRE(networks.nodes.size() == 2);
    std::vector<Score> bounds;
    for (const Node& network : networks.nodes) bounds.push_back(network.bound);
    return bounds;
  };
  // At the root one worker would find them alone.
  const MappingProblem unknown(problem);
  const Score floor = unknown.bound(unknown.root());
  CHECK(floor > Score{});
  CHECK(bounds_at_root(unknown) == std::vector{floor, floor});
  const MappingProblem none_left_out = unknown.without({}, NodeEffort{});
  CHECK(bounds_at_root(none_left_out) == std::vector{floor, floor});
  for (const double capacity : {191.0, 192.0, 287.0, 288.0}) {
    CAPTURE(capacity);
    problem.system.memory[0].capacity = Bytes(capacity);
    const MappingProblem search(problem);
    const MappingProblem second = search.without({}, {.steps = 100});
    test::Children networks;
    search.branch(search.root(), networks);
    REQUIRE(networks.nodes.size() == 2);
    for (const Node& network : networks.nodes) {
      const bool staged = degree_of(search.networks()[*network.network], Strategy::Pipeline) == 2;
      CAPTURE(staged);
      test::Children bounded;
      search.branch(network, bounded);
      REQUIRE(bounded.nodes.size() == 1);
      CHECK(bounded.nodes.front().network == network.network);
      test::Children points;
      search.branch(bounded.nodes.front(), points);
      CHECK(points.nodes.size() == (capacity >= (staged ? 192.0 : 288.0) ? 3 : 0));
      Score least = Score::infinity();
      for (const Node& point : points.nodes) least = std::min(least, point.bound);
      if (!points.nodes.empty()) CHECK(bounded.nodes.front().bound == least);
    }
    // Another tree begins with the bounds that are known.
    for (const Score bound : bounds_at_root(second)) CHECK(bound > floor);
  }
}

TEST_CASE("ticks_within is the inverse of step_time, however long the transfers take") {
  // Beside 2^60 s of transfers the layer is below the last bit of the step.
  for (int exponent = -10; exponent <= 60; exponent += 5) {
    CAPTURE(exponent);
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      CAPTURE(seed);
      const Problem problem = with_transfer(test::random_problem(seed), std::ldexp(1.0, exponent));
      const auto context = MappingProblem(problem).open(outer_points(problem).front());
      const auto check = [&](Score limit) {
        const Ticks most = ticks_within(context->tables.clock(), context->step, limit);
        if (most >= 0) REQUIRE(context->score(most) <= limit);
        if (most < kNever - 1) REQUIRE(context->score(most + 1) > limit);
      };
      for (const Ticks ticks :
           {Ticks{0}, Ticks{1}, Ticks{12345}, Ticks{1} << 40, Ticks{1} << 50, kNever - 1}) {
        const Score step = context->score(ticks);
        check(step);
        check(Score(std::nextafter(step.in_base_units(), 0.0)));
        check(Score(std::nextafter(step.in_base_units(), 1e300)));
        CHECK(ticks_within(context->tables.clock(), context->step, step) >= ticks);
      }
      CHECK(ticks_within(context->tables.clock(), context->step, Score(-1.0)) == -1);
      CHECK(ticks_within(context->tables.clock(), context->step, Score::infinity()) == kNever - 1);
    }
  }
}

TEST_CASE("long transfers do not slow the search down") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    const Problem problem = with_transfer(test::random_problem(seed), std::ldexp(1.0, 45));
    const SearchResult result = solve(problem, {});
    CHECK(result.status != SearchStatus::NoSolution);
    CHECK(result.stats.time < Seconds(1.0));
  }
}

TEST_CASE("tables of a point are built once") {
  Problem problem = test::idle_problem(2);
  problem.workload.sequence = 4;
  const MappingProblem search(problem);
  const auto first = search.open({.tile = 4, .micro_batch = 1});
  const auto again = search.open({.tile = 4, .micro_batch = 1});
  const auto other = search.open({.tile = 2, .micro_batch = 1});
  CHECK(first->point == again->point);
  CHECK(first->point != other->point);
  const MappingProblem second = search.without({}, {.steps = 10});
  CHECK(second.open({.tile = 4, .micro_batch = 1})->point == first->point);
}

}  // namespace dfsearch
