// The examples with all digits are in tests/cli/chip_test.py, against the program; here is
// what no example shows: the edges of the equations, and what grows with what.

#include "technology/derive.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

#include "technology/random_design.hpp"

namespace dfsearch {
namespace {

using test::DesignMaker;
using test::RandomDesign;

TEST_CASE("a whole number of things may miss its area by a rounding") {
  CHECK(whole_part(0.3 * 100.0 / 5.0) == 6);
  CHECK(0.3 * 100.0 / 5.0 >= 6.0 - 1e-12);
  CHECK(whole_part(5.999) == 5);
  CHECK(whole_part(0.0) == 0);
  CHECK(whole_part(-1.0) == 0);
  CHECK(whole_part(1e300) == std::int64_t{1} << 40);
}

TEST_CASE("a share that is left out is as many steps, as the fraction that a config would have") {
  Budget budget;
  budget.die = Area(600.0);
  budget.step = 0.1;
  SplitSteps steps;
  steps.area[Component::Core] = 6;
  CHECK(split_of(budget, steps).area[Component::Core] == Area(600.0 * 0.6));
  budget.area[Component::Core] = Share<Area>(0.6);
  CHECK(split_of(budget).area[Component::Core] == Area(600.0 * 0.6));
  budget.area[Component::Core] = Share<Area>(Area(12.0));
  CHECK(split_of(budget).area[Component::Core] == Area(12.0));
}

TEST_CASE("the sums of a split are those of its classes") {
  DesignMaker maker(1);
  RandomDesign made = maker.make();
  CHECK(overspent(made.design, made.split).empty());
  made.split.power[Component::L2] = made.design.budget.total;
  const auto shortages = overspent(made.design, made.split);
  REQUIRE(shortages.size() == 1);
  CHECK(shortages[0].budget == BudgetClass::Power);
  CHECK(!shortages[0].part.has_value());
  CHECK(shortages[0].needed > shortages[0].available);
  made.design.equations.budget_sums = BudgetSums::Unchecked;
  CHECK(overspent(made.design, made.split).empty());
}

TEST_CASE("ports follow the topology, or are given") {
  DesignMaker maker(2);
  RandomDesign made = maker.make();
  const auto ports = [&](LinkKind kind) {
    return derive(made.design, made.split, made.network)
        .links[static_cast<std::size_t>(kind)]
        ->ports;
  };
  CHECK(ports(LinkKind::Intra) == 3);  // fully connected 4
  CHECK(ports(LinkKind::Inter) == 2);  // a ring
  made.design.equations.link_ports = LinkPorts::FourAndOne;
  CHECK(ports(LinkKind::Intra) == 4);
  CHECK(ports(LinkKind::Inter) == 1);
  made.design.dimensions[1].ports = 5;
  CHECK(ports(LinkKind::Inter) == 5);
  made.design.dimensions[1].link.reset();
  CHECK(ports(LinkKind::Inter) == 0);
}

TEST_CASE("a part that gets nothing is named with the budget it lacks") {
  DesignMaker maker(3);
  const RandomDesign made = maker.make();
  REQUIRE(derive(made.design, made.split, made.network).infeasible.empty());
  const auto lacking = [&](Component part, BudgetClass budget) {
    Split split = made.split;
    if (budget == BudgetClass::DieArea) split.area[part] = Area(0.0);
    if (budget == BudgetClass::Power) split.power[part] = Watts(0.0);
    if (budget == BudgetClass::Edge) split.edge[part] = Length(0.0);
    const Chip chip = derive(made.design, split, made.network);
    return std::any_of(chip.infeasible.begin(), chip.infeasible.end(), [&](const Shortage& s) {
      return s.part == part && s.budget == budget && s.needed >= s.available;
    });
  };
  CHECK(lacking(Component::Core, BudgetClass::DieArea));
  CHECK(lacking(Component::Core, BudgetClass::Power));
  CHECK(lacking(Component::Registers, BudgetClass::Power));
  CHECK(lacking(Component::Registers, BudgetClass::DieArea));
  CHECK(lacking(Component::L2, BudgetClass::DieArea));
  CHECK(lacking(Component::L1, BudgetClass::Power));
  CHECK(lacking(Component::L2, BudgetClass::Power));
  CHECK(lacking(Component::Memory, BudgetClass::DieArea));
  CHECK(lacking(Component::Memory, BudgetClass::Power));
  CHECK(lacking(Component::Memory, BudgetClass::Edge));
  CHECK(lacking(Component::Inter, BudgetClass::DieArea));
  CHECK(lacking(Component::Inter, BudgetClass::Power));
  CHECK(lacking(Component::Inter, BudgetClass::Edge));
  RandomDesign full = made;
  full.design.budget.package = full.design.budget.die;
  const Chip chip = derive(full.design, full.split, full.network);
  REQUIRE(chip.infeasible.size() == 1);
  CHECK(chip.infeasible[0].budget == BudgetClass::Package);
}

/// The numbers of a chip that must not fall when one budget grows.
struct Grown {
  Component part;
  BudgetClass budget;
};

void check_never_worse(const Chip& before, const Chip& after, const Grown& grown) {
  const bool area = grown.budget == BudgetClass::DieArea;
  CHECK(after.core.cores >= before.core.cores);
  if (!(area && grown.part == Component::Core)) {
    CHECK(after.core.point.frequency >= before.core.point.frequency);
  }
  // On paper cores f is constant below the least voltage; a rounding may move it.
  CHECK(after.core.peak >= before.core.peak * (1.0 - 1e-14));
  for (std::size_t x = 0; x < before.levels.size(); ++x) {
    const bool own_area = area && grown.part == component_of(before.levels[x].name);
    if (!(area && grown.part == Component::Core)) {
      CHECK(after.levels[x].capacity >= before.levels[x].capacity);
      CHECK(after.levels[x].share >= before.levels[x].share);
      if (!own_area) CHECK(after.levels[x].bandwidth >= before.levels[x].bandwidth);
    }
  }
  CHECK(after.memory->stacks >= before.memory->stacks);
  CHECK(after.memory->links >= before.memory->links);
  if (!(area && grown.part == Component::Memory)) {
    CHECK(after.memory->bandwidth >= before.memory->bandwidth * (1.0 - 1e-14));
  }
  for (const LinkKind kind : kLinkKinds) {
    const auto i = static_cast<std::size_t>(kind);
    CHECK(after.links[i]->bandwidth >= before.links[i]->bandwidth * (1.0 - 1e-14));
  }
}

TEST_CASE("more of one budget makes nothing worse that is said to grow with it") {
  std::size_t feasible = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    CAPTURE(seed);
    DesignMaker maker(seed);
    const RandomDesign made = maker.make();
    const Chip before = derive(made.design, made.split, made.network);
    if (!before.infeasible.empty()) continue;
    ++feasible;
    for (const Component part : kComponents) {
      const double factor = 1.0 + (maker.unit() < 0.3 ? 1e-12 : maker.unit());
      for (const BudgetClass budget :
           {BudgetClass::DieArea, BudgetClass::Power, BudgetClass::Edge}) {
        if (budget == BudgetClass::Edge && !has_edge(part)) continue;
        Split split = made.split;
        if (budget == BudgetClass::DieArea) split.area[part] = factor * split.area[part];
        if (budget == BudgetClass::Power) split.power[part] = factor * split.power[part];
        if (budget == BudgetClass::Edge) split.edge[part] = factor * split.edge[part];
        const Chip after = derive(made.design, split, made.network);
        // Stacks that cannot be powered are none, which more controllers may bring about.
        if (after.memory->stacks == 0 && budget == BudgetClass::DieArea) continue;
        check_never_worse(before, after, {part, budget});
      }
    }
  }
  CHECK(feasible > 5000);
}

}  // namespace
}  // namespace dfsearch
