#pragma once
// Random technologies and budgets near real chips.

#include <cmath>
#include <random>
#include <vector>

#include "model/machine/machine.hpp"
#include "technology/derive.hpp"

namespace dfsearch::test {

struct RandomDesign {
  ChipDesign design;
  Split split;
  std::vector<NetworkDimension> network;
};

class DesignMaker {
 public:
  explicit DesignMaker(std::uint64_t seed) : random_(seed) {}

  double unit() { return std::uniform_real_distribution<double>(0.0, 1.0)(random_); }
  /// Around a value, up to three times more or less.
  double near(double value) { return value * std::pow(3.0, 2.0 * unit() - 1.0); }
  std::int64_t count(std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most));
  }

  RandomDesign make() {
    RandomDesign made;
    Technology& t = made.design.technology;
    t.core = {.lanes = count(32),
              .stages = count(32),
              .bundle = count(8),
              .area = Area(near(0.2)),
              .power = Watts(near(0.08)),
              .transistors = transistors(1.3e9, 0.8)};
    t.levels = {level(LevelScope::Core), level(LevelScope::Bundle), level(LevelScope::Chip)};
    t.memory = MemoryTechnology{.stack = Bytes(8589934592.0),
                                .stack_area = Area(near(100.0)),
                                .controller_area = Area(near(4.0)),
                                .links_per_stack = 1024,
                                .links_per_mm = PerLength(near(200.0)),
                                .transistors = transistors(2e9, 1.1),
                                .energy = JoulesPerByte(near(24e-12)),
                                .leakage = WattsPerByte(near(4.8e-12)),
                                .utilization = 0.9};
    t.links = {link(0.0005, 200.0, 3e9, 8e-12), link(0.04, 20.0, 20e9, 64e-12)};
    Budget& budget = made.design.budget;
    budget.die = Area(near(300.0));
    budget.package = budget.die + Area(near(300.0));
    budget.total = Watts(near(200.0));
    for (const Component part : kComponents) {
      made.split.area[part] = 0.14 * unit() * budget.die;
      made.split.power[part] = 0.14 * unit() * budget.total;
      if (has_edge(part)) made.split.edge[part] = 0.3 * unit() * budget.perimeter();
    }
    made.network = {{.topology = Topology::FullyConnected, .degree = 4},
                    {.topology = Topology::Ring, .degree = 8}};
    made.design.dimensions = {{.link = LinkKind::Intra, .ports = {}},
                              {.link = LinkKind::Inter, .ports = {}}};
    return made;
  }

 private:
  Transistors transistors(double frequency, double voltage) {
    Transistors t{.frequency = Hertz(near(frequency)),
                  .voltage = Volts(voltage),
                  .threshold = Volts(voltage * (0.2 + 0.25 * unit())),
                  .minimum = Volts(),
                  .maximum = Volts::infinity()};
    t.minimum = t.threshold + Volts(voltage * 0.6 * unit());
    if (random_() % 2 == 0) t.maximum = std::max(t.minimum, Volts(voltage * (1.1 + 0.5 * unit())));
    return t;
  }
  LevelTechnology level(LevelScope scope) {
    return {.scope = scope,
            .bank = Bytes(1024.0 * static_cast<double>(std::int64_t{1} << count(7))),
            .cell_area = AreaPerByte(near(4e-7)),
            .overhead = 0.4 * unit(),
            .port_area = Area(random_() % 2 == 0 ? 0.0 : near(4e-4)),
            .energy = JoulesPerByte(near(5e-13)),
            .leakage = WattsPerByte(near(7e-11)),
            .utilization = 0.3 + 0.7 * unit()};
  }
  LinkTechnology link(double area, double density, double frequency, double energy) {
    return {.area = Area(near(area)),
            .links_per_mm = PerLength(near(density)),
            .transistors = transistors(frequency, 1.1),
            .energy = JoulesPerByte(near(energy))};
  }

  std::mt19937_64 random_;
};

}  // namespace dfsearch::test
