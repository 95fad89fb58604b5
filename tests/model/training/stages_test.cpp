// Against all spreads of a few layers over a few stages.

#include "model/training/stages.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace dfsearch::training {
namespace {

struct StageWorld {
  std::int64_t stages;
  LayerOrder order;
  std::vector<double> room;  // per stage
  double layer, other_layer, first, last;
  double backward, tail, alone;  // of a way back, of the tail, and where a stage waits by itself

  [[nodiscard]] double size(const StageContent& c) const {
    return static_cast<double>(2 * c.layers + 3 * c.other_layers + (c.first ? 1 : 0));
  }
  [[nodiscard]] double time(const StageContent& c) const {
    return layer * static_cast<double>(c.layers) +
           other_layer * static_cast<double>(c.other_layers) + (c.first ? first : 0.0) +
           (c.last ? last : 0.0);
  }
  /// All costs grow with the layers, each in another way.
  [[nodiscard]] StageCost cost(const StageContent& c) const {
    const double all = static_cast<double>(c.all_layers());
    const double experts = static_cast<double>(c.other_layers);
    return {
        .forward = Seconds(time(c)),
        .backward = Seconds(backward * (all + (c.first ? 3.0 : 0.0))),
        .after_last_backward = Seconds(tail * (all * all + 2.0 * experts + (c.last ? 4.0 : 0.0))),
        .single_stage_time = Seconds(time(c) + alone * experts * (c.last ? 2.0 : 1.0))};
  }
};

StageWorld random_stages(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](int least, int most) {
    return std::uniform_int_distribution(least, most)(random);
  };
  StageWorld world{.stages = pick(1, 4),
                   .order = {.layers = pick(0, 5), .other_layers = pick(0, 4)},
                   .room = {},
                   .layer = pick(1, 4) * 0.5,
                   .other_layer = pick(1, 5) * 0.5,
                   .first = pick(0, 2) * 0.25,
                   .last = pick(0, 8) * 0.25,
                   .backward = pick(0, 1) * pick(0, 4) * 0.5,
                   .tail = pick(0, 1) * pick(0, 6) * 0.25,
                   .alone = pick(0, 1) * pick(0, 8) * 0.5};
  for (int i = 0; i < 4; ++i) world.room.push_back(pick(4, 30));
  if (const std::int64_t every = pick(-2, 4); every > 1) {
    const std::int64_t all = world.order.all();
    world.order = {.layers = all - all / every, .other_layers = all / every, .every = every};
  }
  return world;
}

/// Calls `found` with every spread.
template <class Found>
void enumerate(const StageWorld& world, std::vector<std::int64_t>& layers, std::int64_t left,
               const Found& found) {
  if (static_cast<std::int64_t>(layers.size()) == world.stages - 1) {
    layers.push_back(left);
    found(layers);
    layers.pop_back();
    return;
  }
  for (std::int64_t count = 0; count <= left; ++count) {
    layers.push_back(count);
    enumerate(world, layers, left - count, found);
    layers.pop_back();
  }
}

TEST_CASE("the spread found is the best of all spreads that fit") {
  int feasible = 0, infeasible = 0, pace_is_not_all = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    CAPTURE(seed);
    const StageWorld world = random_stages(seed);
    const auto holds = [&](std::int64_t stage, const StageContent& content) {
      return world.size(content) <= world.room[static_cast<std::size_t>(stage)];
    };
    // The step written out: maxima of the stages, one after the other.
    const auto step_of = [&](const std::vector<StageContent>& contents) {
      double forward = 0.0, backward = 0.0, tail = 0.0, alone = 0.0;
      for (const StageContent& content : contents) {
        const StageCost cost = world.cost(content);
        forward = std::max(forward, cost.forward.in_base_units());
        backward = std::max(backward, cost.backward.in_base_units());
        tail = std::max(tail, cost.after_last_backward.in_base_units());
        alone = std::max(alone, cost.single_stage_time.in_base_units());
      }
      return std::max(forward + backward + tail, alone);
    };
    const auto slowest_of = [&](const std::vector<StageContent>& contents) {
      double slowest = 0.0;
      for (const StageContent& content : contents) slowest = std::max(slowest, world.time(content));
      return slowest;
    };
    double best = -1.0, pace = -1.0;
    std::vector<std::int64_t> layers;
    enumerate(world, layers, world.order.all(), [&](const auto& spread) {
      const auto contents = contents_of(spread, 1, world.order);
      for (std::size_t i = 0; i < contents.size(); ++i) {
        if (!holds(static_cast<std::int64_t>(i), contents[i])) return;
      }
      const double step = step_of(contents), slowest = slowest_of(contents);
      if (best < 0.0 || step < best) best = step;
      if (pace < 0.0 || slowest < pace) pace = slowest;
    });
    const StageLimits limits{
        .cost = [&](const StageContent& content) { return world.cost(content); }, .holds = holds};
    const auto found = spread_layers(world.stages, world.order, limits);
    REQUIRE(found.has_value() == (best >= 0.0));
    found ? ++feasible : ++infeasible;
    if (!found) continue;
    const auto contents = contents_of(found->layers, 1, world.order);
    std::int64_t dense = 0, expert = 0;
    for (std::size_t i = 0; i < contents.size(); ++i) {
      CHECK(holds(static_cast<std::int64_t>(i), contents[i]));
      dense += contents[i].layers;
      expert += contents[i].other_layers;
    }
    CHECK(found->step.in_base_units() == best);
    CHECK(step_of(contents) == best);
    CHECK(dense == world.order.layers);
    CHECK(expert == world.order.other_layers);
    pace_is_not_all += slowest_of(contents) > pace;
    // What is asked to be faster than the best is not there.
    CHECK(spread_layers(world.stages, world.order, limits, found->step));
    if (best == 0.0) continue;
    CHECK_FALSE(spread_layers(world.stages, world.order, limits, found->step * (1.0 - 1e-9)));
  }
  CHECK(feasible > 1000);
  CHECK(infeasible > 400);
  CHECK(pace_is_not_all > 100);
}

TEST_CASE("chunks take the layers in turn") {
  // Eight layers, the first three without experts, two stages of two chunks: stage 0 has layers 0,
  // 1, 4, 5.
  const auto contents = contents_of({4, 4}, 2, {.layers = 3});
  REQUIRE(contents.size() == 2);
  CHECK(contents[0].layers == 2);
  CHECK(contents[0].other_layers == 2);
  CHECK(contents[1].layers == 1);
  CHECK(contents[1].other_layers == 3);
  CHECK(contents[0].first);
  CHECK(contents[1].last);
  // Ten layers in three stages of two chunks of two slots: the embedding and the loss take one
  // each.
  const auto ends = contents_of({3, 4, 3}, 2, {.layers = 6, .other_layers = 4});
  CHECK(ends[0].layers == 2);  // 0, 5, 6
  CHECK(ends[0].other_layers == 1);
  CHECK(ends[1].layers == 2);  // 1, 2, 7, 8
  CHECK(ends[2].layers == 2);  // 3, 4, 9
  CHECK(ends[2].other_layers == 1);
  // Every third of seven layers is of the other kind: layers 2 and 5, counted from 0.
  const auto alternate = contents_of({3, 2, 2}, 1, {.layers = 5, .other_layers = 2, .every = 3});
  CHECK(alternate[0].other_layers == 1);
  CHECK(alternate[1].other_layers == 0);
  CHECK(alternate[2].other_layers == 1);
}

}  // namespace
}  // namespace dfsearch::training
