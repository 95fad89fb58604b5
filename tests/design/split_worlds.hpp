#pragma once
// Small worlds in which all splits of the budgets can be tried.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "design/split_space.hpp"
#include "engine/solve.hpp"
#include "model/layer/level_traffic.hpp"
#include "support/random_problem.hpp"
#include "technology/random_design.hpp"

namespace dfsearch::test {

/// A problem whose chips are of a technology, with few splits.
struct World {
  Problem problem;
  ChipDesign design;
};

inline World random_world(std::uint64_t seed) {
  std::mt19937_64 random(seed + 17);
  DesignMaker maker(seed);
  RandomDesign made = maker.make();
  World world{random_problem(seed, {.kernels = 4, .assignments = 200}), made.design};
  Machine& system = world.problem.system;
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

/// A split onto whose chip a mapping fits.
struct TriedSplit {
  GridPoint point;
  Score objective = Score::infinity();
};

struct AllSplits {
  std::vector<TriedSplit> fitting;  ///< best first, equal ones in the order of ties
  int splits = 0;                   ///< that keep the sums
};

/// The best step with a split, by a search for it alone; infinite: there is none.
inline Score tried(const World& world, const ChipDesign& design, const Split& split) {
  const Chip chip = derive(design, split, world.problem.system.network);
  if (!chip.infeasible.empty()) return Score::infinity();
  Problem machine = world.problem;
  put_into(design, chip, machine.system);
  if (machine.execution.levels && !holds_tiles(machine.system.levels, machine.workload.word)) {
    return Score::infinity();
  }
  const SearchResult found = solve(machine, {});
  return found.cost ? found.cost->objective : Score::infinity();
}

/// The next point of the grid in the order of ties; false after the last one.
inline bool advance(GridPoint& point, const GridPoint& most) {
  for (std::size_t i = point.size(); i-- > 0;) {
    if (point[i] < most[i]) {
      ++point[i];
      std::fill(point.begin() + static_cast<std::ptrdiff_t>(i) + 1, point.end(), 0);
      return true;
    }
  }
  return false;
}

inline AllSplits try_all(const World& world) {
  const SplitSpace space(world.design);
  const SplitBox all = space.all();
  AllSplits found;
  GridPoint point = all.least;
  do {
    SplitBox one{.least = point, .most = point};
    if (!space.tighten(one)) continue;
    ++found.splits;
    const Score objective = tried(world, world.design, space.split(point));
    if (objective < Score::infinity()) found.fitting.push_back({point, objective});
  } while (advance(point, all.most));
  std::stable_sort(
      found.fitting.begin(), found.fitting.end(),
      [](const TriedSplit& a, const TriedSplit& b) { return a.objective < b.objective; });
  return found;
}

}  // namespace dfsearch::test
