// The search over splits against trying all of them.

#include "design/find_split.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "design/split_space.hpp"
#include "engine/solve.hpp"
#include "model/layer/level_traffic.hpp"
#include "support/random_problem.hpp"
#include "technology/optimistic_chip.hpp"
#include "technology/random_design.hpp"

namespace dfsearch {
namespace {

/// A problem whose chips are of a technology, with few splits.
struct World {
  Problem problem;
  ChipDesign design;
};

World random_world(std::uint64_t seed) {
  std::mt19937_64 random(seed + 17);
  test::DesignMaker maker(seed);
  test::RandomDesign made = maker.make();
  World world{test::random_problem(seed, {.kernels = 4, .assignments = 200}), made.design};
  System& system = world.problem.system;
  const Topology topologies[] = {Topology::Ring, Topology::Switch, Topology::FullyConnected};
  world.design.dimensions.clear();
  for (std::size_t d = 0; d < system.network.size(); ++d) {
    if (system.network[d].degree) system.network[d].topology = topologies[random() % 3];
    const LinkKind kind = random() % 2 == 0 ? LinkKind::Intra : LinkKind::Inter;
    world.design.dimensions.push_back({.link = kind, .ports = {}});
    if (!system.network[d].degree) world.design.dimensions.back().ports = 2;
  }
  // Small things of small kernels: otherwise everything is bound by one part.
  for (auto& level : world.design.technology.levels) {
    level->bank = Bytes(64.0);
    level->cell_area = 3e4 * level->cell_area;
  }
  world.design.technology.core.bundle = 1 + static_cast<std::int64_t>(random() % 2);
  world.design.technology.core.area = Area(maker.near(20.0));
  world.design.technology.memory->stack = Bytes(1e9);
  world.problem.execution.levels = random() % 2 == 0;
  world.problem.execution.compute_utilization.reset();
  if (random() % 2 == 0) world.problem.execution.compute_utilization = 0.8;
  world.problem.objective = Objective::StepTime;
  Budget& budget = world.design.budget;
  budget.step = random() % 2 == 0 ? 0.25 : 0.2;
  for (const Component part : kComponents) {
    budget.area[part] = Share<Area>(0.08);
    budget.power[part] = Share<Watts>(0.08);
    if (has_edge(part)) budget.edge[part] = Share<Length>(0.2);
  }
  // Two or three shares are left out, of classes and parts at random.
  for (int i = 0; i < 3; ++i) {
    const Component part = kComponents[random() % kComponents.size()];
    if (random() % 2 == 0) {
      budget.area[part].reset();
    } else {
      budget.power[part].reset();
    }
  }
  return world;
}

struct BestSplit {
  std::optional<GridPoint> point;
  Score objective = Score::infinity();
  int splits = 0;
  int feasible = 0;
};

/// Every split within the sums, in the order of ties.
BestSplit try_all(const World& world) {
  const SplitSpace space(world.design);
  const SplitBox all = space.all();
  BestSplit best;
  GridPoint point = all.least;
  for (bool more = true; more;) {
    SplitBox one{.least = point, .most = point};
    if (space.tighten(one)) {
      ++best.splits;
      const Chip chip = derive(world.design, space.split(point), world.problem.system.network);
      Problem machine = world.problem;
      put_into(world.design, chip, machine.system);
      const bool runs =
          chip.infeasible.empty() &&
          (!machine.execution.levels || holds_tiles(machine.system.levels, machine.workload.word));
      const SearchResult found = runs ? solve(machine, {}) : SearchResult{};
      if (found.cost) {
        ++best.feasible;
        if (found.cost->objective < best.objective)
          best = {point, found.cost->objective, best.splits, best.feasible};
      }
    }
    more = false;
    for (std::size_t i = point.size(); i-- > 0;) {
      if (point[i] < all.most[i]) {
        ++point[i];
        std::fill(point.begin() + static_cast<std::ptrdiff_t>(i) + 1, point.end(), 0);
        more = true;
        break;
      }
    }
  }
  return best;
}

TEST_CASE("the best split is the first of the best of all") {
  int feasible = 0;
  int several = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    const World world = random_world(seed);
    const BestSplit best = try_all(world);
    feasible += best.point.has_value();
    several += best.feasible > 5;
    for (const int threads : {1, 2, 8}) {
      CAPTURE(threads);
      const DesignResult result = find_split(world.problem, world.design, {.threads = threads});
      CHECK(result.splits == static_cast<double>(best.splits));
      if (!best.point) {
        CHECK(result.status == SearchStatus::Infeasible);
        continue;
      }
      REQUIRE(result.status == SearchStatus::Optimal);
      CHECK(result.search.cost->objective == best.objective);
      CHECK(result.lower_bound == best.objective);
      const SplitSpace space(world.design);
      const Split split = space.split(*best.point);
      for (const Component part : kComponents) {
        CHECK(result.chip->split.area[part] == split.area[part]);
        CHECK(result.chip->split.power[part] == split.power[part]);
      }
    }
  }
  CHECK(feasible > 150);
  CHECK(several > 80);
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
