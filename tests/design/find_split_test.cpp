// The search over splits against trying all of them.

#include "design/find_split.hpp"

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>

#include "design/split_space.hpp"
#include "design/split_worlds.hpp"
#include "technology/derive.hpp"

namespace dfsearch {
namespace {

using test::AllSplits;
using test::World;

/// Checks that the chip has the shares of the grid point.
void check_split(const World& world, const std::optional<Chip>& chip, const GridPoint& point) {
  REQUIRE(chip.has_value());
  const Split split = SplitSpace(world.design).split(point);
  for (const Component part : kComponents) {
    CHECK(chip->split.area[part] == split.area[part]);
    CHECK(chip->split.power[part] == split.power[part]);
    CHECK(chip->split.edge[part] == split.edge[part]);
  }
}

/// Checks that the best splits are the first ones of all, and that they end where there are no
/// more.
void check_best(const World& world, const AllSplits& all, const DesignResult& result,
                std::size_t top) {
  CHECK(result.splits == static_cast<double>(all.splits));
  const std::size_t there = std::min(top, all.fitting.size());
  REQUIRE(result.best.size() == std::min(top, there + 1));
  for (std::size_t i = 0; i < there; ++i) {
    CAPTURE(i);
    CHECK(result.best[i].status == SearchStatus::Optimal);
    CHECK(result.best[i].objective == all.fitting[i].objective);
    CHECK(result.best[i].lower_bound == all.fitting[i].objective);
    check_split(world, result.best[i].chip, all.fitting[i].point);
  }
  if (there < top) CHECK(result.best.back().status == SearchStatus::Infeasible);
  CHECK(result.status == result.best.front().status);
  if (there == 0) return;
  CHECK(result.search.cost->objective == all.fitting.front().objective);
  CHECK(result.lower_bound == all.fitting.front().objective);
}

TEST_CASE("the best split is the first of the best of all") {
  const tbb::global_control eight(tbb::global_control::max_allowed_parallelism, 8);
  int feasible = 0;
  int several = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    const World world = test::random_world(seed);
    const AllSplits all = test::try_all(world);
    feasible += !all.fitting.empty();
    several += all.fitting.size() > 5;
    for (const int threads : {1, 2, 8}) {
      CAPTURE(threads);
      const auto result = find_split(world.problem, world.design, {.search = {.threads = threads}});
      check_best(world, all, result, 1);
    }
  }
  CHECK(feasible > 150);
  CHECK(several > 80);
}

TEST_CASE("the best splits are the first ones of all, in the order of ties") {
  int several = 0;
  for (std::uint64_t seed = 0; seed < 160; ++seed) {
    CAPTURE(seed);
    const World world = test::random_world(seed);
    const AllSplits all = test::try_all(world);
    several += all.fitting.size() > 5;
    const DesignOptions options{.search = {.threads = 1 + static_cast<int>(seed % 2),
                                           .deterministic = seed % 3 == 0,
                                           .top = 5}};
    check_best(world, all, find_split(world.problem, world.design, options), 5);
  }
  CHECK(several > 15);
}

TEST_CASE("a deterministic search halves the same boxes on any number of threads") {
  const tbb::global_control eight(tbb::global_control::max_allowed_parallelism, 8);
  int halved = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const World world = test::random_world(seed);
    std::optional<std::int64_t> boxes;
    for (const int threads : {1, 2, 8}) {
      CAPTURE(threads);
      const DesignOptions options{.search = {.threads = threads, .deterministic = true, .top = 2}};
      const DesignResult result = find_split(world.problem, world.design, options);
      if (!boxes) boxes = result.boxes;
      CHECK(result.boxes == *boxes);
    }
    halved += *boxes > 3;
  }
  CHECK(halved > 20);
}

TEST_CASE("a search that is stopped after every box and goes on comes to the same answers") {
  int runs = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    const World world = test::random_world(seed);
    const AllSplits all = test::try_all(world);
    DesignOptions options{.search = {.top = 3}};
    options.search.limits.nodes = 1;
    std::optional<SplitState> last;
    options.on_checkpoint = [&](const SplitState& state) { last = state; };
    DesignResult result = find_split(world.problem, world.design, options);
    for (int run = 0; run < 500 && result.best.back().stopped_by != StopReason::None; ++run) {
      CHECK(result.best.back().stopped_by == StopReason::Nodes);
      if (!all.fitting.empty()) CHECK(result.lower_bound <= all.fitting.front().objective);
      options.resume = last;
      result = find_split(world.problem, world.design, options);
      ++runs;
    }
    check_best(world, all, result, 3);
    // From a finished search the answer is there at once, but for a proof that there are no more.
    options.resume = last;
    options.search.limits.nodes = 1;
    if (all.fitting.size() < 3) continue;
    const std::int64_t before = result.boxes;
    result = find_split(world.problem, world.design, options);
    check_best(world, all, result, 3);
    CHECK(result.boxes == before);
  }
  CHECK(runs > 100);
}

TEST_CASE("what more of a budget would bring is the step with that much more") {
  int faster = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const World world = test::random_world(seed);
    const auto result = find_split(world.problem, world.design, {.search = {}, .find_gains = true});
    if (!result.chip) {
      CHECK(result.gains.empty());
      continue;
    }
    ChipDesign unchecked = world.design;
    unchecked.equations.budget_sums = BudgetSums::Unchecked;
    CHECK(result.gains.size() >= 15);  // 7 areas, 7 powers and 3 edges, but for given ones of 0
    for (const BudgetGain& gain : result.gains) {
      ChipDesign design = unchecked;
      Split split = result.chip->split;
      if (gain.budget == BudgetClass::DieArea) split.area[*gain.part] += Area(gain.more);
      if (gain.budget == BudgetClass::Power) split.power[*gain.part] += Watts(gain.more);
      if (gain.budget == BudgetClass::Edge) split.edge[*gain.part] += Length(gain.more);
      if (gain.budget == BudgetClass::Package) design.budget.package += Area(gain.more);
      const Score objective = test::tried(world, design, split);
      CHECK(gain.objective == objective);
      if (gain.known != WhatIf::Known) continue;
      const double ratio = objective / result.best.front().objective;
      CHECK(gain.change == doctest::Approx(ratio - 1.0).epsilon(1e-10));
      faster += gain.change < 0.0;
      // More power and more edge can only help, but for a rounding.
      const bool helps = gain.budget == BudgetClass::Power || gain.budget == BudgetClass::Edge;
      if (helps) CHECK(gain.change <= 0.0);
    }
  }
  CHECK(faster > 100);
}

TEST_CASE("a search without any time knows nothing and says so") {
  int unknown = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const World some = test::random_world(seed);
    DesignOptions options{.search = {}, .find_gains = true};
    options.search.limits.deadline = Deadline(Seconds(0.0));
    const DesignResult result = find_split(some.problem, some.design, options);
    CHECK(result.gains.empty());
    if (result.status == SearchStatus::Infeasible) {
      // No chip of any split can be built, which takes no search.
      CHECK(test::try_all(some).fitting.empty());
      continue;
    }
    ++unknown;
    CHECK(result.status == SearchStatus::NoSolution);
    CHECK(result.stopped_by == StopReason::Time);
    CHECK(result.lower_bound == Score{});
  }
  CHECK(unknown > 10);
}

TEST_CASE("no split of a box makes a chip that is better than its optimistic one") {
  std::mt19937_64 random(9);
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    test::DesignMaker maker(seed);
    const test::RandomDesign made = maker.make();
    Split least = made.split;
    Split most = made.split;
    Split inside = made.split;
    for (const Component part : kComponents) {
      const double low = random() % 4 == 0 ? 0.0 : maker.unit();
      const double at = low + (1.0 - low) * maker.unit();
      least.area[part] = low * most.area[part];
      inside.area[part] = at * most.area[part];
      least.power[part] = low * most.power[part];
      inside.power[part] = at * most.power[part];
      least.edge[part] = low * most.edge[part];
      inside.edge[part] = at * most.edge[part];
    }
    const Chip chip = derive(made.design, inside, made.network);
    if (!chip.infeasible.empty()) continue;
    ++compared;
    for (const CycleUse cycles : {CycleUse::Counted, CycleUse::AtUtilization}) {
      const auto best = optimistic_chip(made.design, least, most, made.network, cycles);
      REQUIRE(best.has_value());
      const double slack = 1.0 - 1e-12;
      CHECK(best->core.cores >= chip.core.cores);
      CHECK(best->core.peak >= slack * chip.core.peak);
      if (cycles == CycleUse::Counted) {
        CHECK(best->core.point.frequency >= slack * chip.core.point.frequency);
      }
      for (std::size_t x = 0; x < chip.levels.size(); ++x) {
        CHECK(best->levels[x].capacity >= chip.levels[x].capacity);
        CHECK(best->levels[x].share >= chip.levels[x].share);
        CHECK(best->levels[x].bandwidth >= chip.levels[x].bandwidth);
      }
      CHECK(best->memory->capacity >= chip.memory->capacity);
      CHECK(best->memory->bandwidth >= slack * chip.memory->bandwidth);
      for (std::size_t k = 0; k < chip.links.size(); ++k) {
        CHECK(best->links[k]->bandwidth >= slack * chip.links[k]->bandwidth);
      }
    }
  }
  CHECK(compared > 1500);
}

}  // namespace
}  // namespace dfsearch
