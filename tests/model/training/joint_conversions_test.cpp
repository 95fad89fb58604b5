// Against all sets of steps, and against sums written out by hand.

#include "model/training/value_conversions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "model/training/layout_shelf.hpp"
#include "model/training/profile.hpp"
#include "support/published_models.hpp"
#include "support/training_worlds.hpp"

namespace dfsearch::training {
namespace {

constexpr ValueLayout R = ValueLayout::Replicated, F = ValueLayout::Features,
                      T = ValueLayout::Tokens, P = ValueLayout::Partial;

/// The part of a whole of 1 that a chip has in a layout on an axis of `chips`.
double held(ValueLayout layout, double chips) {
  return layout == R || layout == P ? 1.0 : 1.0 / chips;
}

struct World {
  JointLayout root{};
  JointPassages passages;
  std::vector<JointLayout> wanted;
  std::array<double, kAxes> chips{}, seconds{};  // per element that crosses
  std::vector<Conversion> conversions;           // what the passages refer to

  [[nodiscard]] JointCost cost(const JointStep& step) const {
    double whole = 1024.0;
    for (std::size_t other = 0; other < kAxes; ++other) {
      if (other != step.axis) whole *= held(step.at[other], chips[other]);
    }
    const double sent = step.passage.by->exchange == Exchange::AllReduce ? 2.0 : 1.0;
    return {whole * sent * seconds[step.axis], 0.0};
  }
};

World random_world(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::size_t least, std::size_t most) {
    return std::uniform_int_distribution(least, most)(random);
  };
  const std::vector<ValueLayout> all{R, F, T, P};
  World world;
  world.conversions.reserve(16);
  std::array<std::vector<ValueLayout>, kAxes> there;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    world.chips[axis] = static_cast<double>(std::size_t{1} << pick(1, 3));
    world.seconds[axis] = static_cast<double>(pick(1, 8));
    world.root[axis] = all[pick(0, 3)];
    there[axis] = {world.root[axis]};
    const std::size_t more = pick(0, axis == 2 ? 1 : 2);
    for (const ValueLayout to : {R, F, T}) {
      if (to == world.root[axis] || there[axis].size() > more) continue;
      const ValueLayout from = there[axis][pick(0, there[axis].size() - 1)];
      AxisPassage passage{.from = from, .to = to, .by = nullptr};
      if (from != R) {
        world.conversions.push_back(
            {.exchange = to == R && from == P ? Exchange::AllReduce : Exchange::AllGather});
        passage.by = &world.conversions.back();
      }
      world.passages[axis].push_back(passage);
      there[axis].push_back(to);
    }
  }
  for (std::size_t i = pick(1, 3); i > 0; --i) {
    JointLayout wanted{};
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      wanted[axis] = there[axis][pick(0, there[axis].size() - 1)];
    }
    world.wanted.push_back(wanted);
  }
  return world;
}

/// All steps that there are: every passage at every layout of the other axes.
std::vector<JointStep> all_steps(const World& world) {
  std::vector<JointLayout> places{world.root};
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const std::size_t before = places.size();
    for (std::size_t i = 0; i < before; ++i) {
      for (const AxisPassage& passage : world.passages[axis]) {
        JointLayout place = places[i];
        place[axis] = passage.to;
        places.push_back(place);
      }
    }
  }
  std::vector<JointStep> steps;
  for (const JointLayout& place : places) {
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      for (const AxisPassage& passage : world.passages[axis]) {
        if (passage.from != place[axis]) continue;
        steps.push_back({.axis = axis, .passage = passage, .at = place});
      }
    }
  }
  return steps;
}

/// Whether the steps, each after the step that makes its source, make all required layouts.
bool makes_all(const World& world, const std::vector<JointStep>& steps) {
  std::vector<JointLayout> there{world.root};
  const auto is_there = [&](const JointLayout& layout) {
    return std::find(there.begin(), there.end(), layout) != there.end();
  };
  for (bool more = true; more;) {
    more = false;
    for (const JointStep& step : steps) {
      JointLayout made = step.at;
      made[step.axis] = step.passage.to;
      if (!is_there(step.at) || is_there(made)) continue;
      there.push_back(made);
      more = true;
    }
  }
  return std::all_of(world.wanted.begin(), world.wanted.end(), is_there);
}

double sum_of(const World& world, const std::vector<JointStep>& steps) {
  double sum = 0.0;
  for (const JointStep& step : steps) {
    if (step.passage.by != nullptr) sum += world.cost(step)[0];
  }
  return sum;
}

TEST_CASE("the steps found cost least of all sets that make what is wanted") {
  int compared = 0, several = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const World world = random_world(seed);
    const std::vector<JointStep> all = all_steps(world);
    if (all.size() > 12) continue;
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t set = 0; set < (std::size_t{1} << all.size()); ++set) {
      std::vector<JointStep> steps;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if ((set >> i & 1U) != 0) steps.push_back(all[i]);
      }
      const double sum = sum_of(world, steps);
      if (sum < best && makes_all(world, steps)) best = sum;
    }
    const auto found = cheapest_steps(world.root, world.passages, world.wanted,
                                      [&](const JointStep& step) { return world.cost(step); });
    CHECK(makes_all(world, found));
    CHECK(sum_of(world, found) == doctest::Approx(best).epsilon(1e-12));
    ++compared;
    several += found.size() > 2;
  }
  CHECK(compared > 1500);
  CHECK(several > 100);
}

TEST_CASE("what shrinks a value comes first, what makes it grow last") {
  // Smith's rule: of a summand on 8 tensor ranks that 16 context ranks gather, 1/8 is gathered.
  const Conversion scattered{.exchange = Exchange::ReduceScatter};
  const Conversion gathered{.exchange = Exchange::AllGather};
  World world;
  world.root = {P, T, R};
  world.passages[0] = {{.from = P, .to = F, .by = &scattered}};
  world.passages[1] = {{.from = T, .to = R, .by = &gathered}};
  world.wanted = {{F, R, R}};
  world.chips = {8.0, 16.0, 1.0};
  world.seconds = {1.0, 1.0, 1.0};
  const auto steps = cheapest_steps(world.root, world.passages, world.wanted,
                                    [&](const JointStep& step) { return world.cost(step); });
  REQUIRE(steps.size() == 2);
  CHECK(world.cost(steps[0])[0] + world.cost(steps[1])[0] == 1024.0 / 16.0 + 1024.0 / 8.0);
}

TEST_CASE("among tensor and context ranks a chip gathers the keys of its own heads alone") {
  // Llama-3.1 405B of 131,072 tokens: eight heads of keys and values of 128, one for each of 8
  // tensor ranks; 16 context ranks gather that one, whatever the tensor ranks leave of it.
  Task task = test::training_task(test::llama3_405b(), 131072, 128);
  task.pass.causal = task.pass.fused = true;
  const Blocks blocks = blocks_of(task);
  LayoutShelf shelf(task, blocks);
  Degrees degrees;
  degrees[Role::Tensor] = 8;
  degrees[Role::Context] = 16;
  const double head = 2.0 * 128.0 * 131072.0;
  for (const TensorLayout layout : shelf.tensor_layouts(degrees)) {
    const Profiles profiles = shelf.profiles(degrees, layout, 1);
    double rings = 0.0;
    for (const BlockExchange& exchange : of(profiles, Part::Layer).exchanges) {
      if (exchange.role != Role::Context || exchange.phase != Phase::Forward) continue;
      rings += exchange.whole.in_base_units();
    }
    CAPTURE(static_cast<int>(layout));
    CHECK(rings == 2.0 * head);
  }
}

}  // namespace
}  // namespace dfsearch::training
