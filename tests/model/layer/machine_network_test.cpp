// Communication over the whole machine, by hand.

#include <doctest/doctest.h>

#include <vector>

#include "model/layer/machine_network.hpp"
#include "model/layer/sharding.hpp"
#include "model/machine/network_choices.hpp"
#include "support/model_worlds.hpp"

namespace dfsearch {
namespace {

struct Link {
  Topology topology;
  std::int64_t degree;
  double bandwidth;  // B/s
};

constexpr Topology kR = Topology::Ring;
constexpr Topology kFc = Topology::FullyConnected;
constexpr Topology kSw = Topology::Switch;

MachineNetwork machine(const std::vector<Link>& links, const Equations& equations = {}) {
  Machine system;
  for (const Link& link : links) {
    system.network.push_back(test::dimension(link.topology, link.degree, link.bandwidth));
  }
  return {system, test::network_of(system), equations};
}

double all_to_all(const std::vector<Link>& links, double pair, AllToAllTime time,
                  PairCount count = PairCount::Auto) {
  Equations equations;
  equations.all_to_all = time;
  equations.all_to_all_pairs = count;
  return machine(links, equations).all_to_all(Bytes(pair)).in_base_units();
}

constexpr auto kBisection = AllToAllTime::Bisection;
constexpr auto kPerDimension = AllToAllTime::PerDimension;

}  // namespace

TEST_CASE("the outermost dimension is one side of the grid, all others are the other") {
  CHECK(machine({}).grid().chips() == 1);
  CHECK(machine({{kR, 4, 1.0}}).grid().x == 1);
  CHECK(machine({{kR, 4, 1.0}}).grid().y == 4);
  const MachineNetwork two = machine({{kR, 4, 1.0}, {kR, 3, 1.0}});
  CHECK(two.grid().x == 4);
  CHECK(two.grid().y == 3);
  const MachineNetwork three = machine({{kR, 4, 1.0}, {kR, 3, 1.0}, {kSw, 5, 1.0}});
  CHECK(three.grid().x == 12);
  CHECK(three.grid().y == 5);
  CHECK(three.grid().chips() == 60);
}

TEST_CASE("a panel goes along the outermost dimension with members, messages along the others") {
  const std::vector<Link> two{{kR, 4, 10.0}, {kR, 2, 5.0}};
  CHECK(machine(two).grid_broadcast(Bytes(80.0)) == Seconds(80.0 / 4 / 5));
  CHECK(machine(two).grid_point_to_point(Bytes(80.0)) == Seconds(80.0 / 2 / 10));
  // A single dimension is a row: each chip gets the whole panel, and nothing goes across.
  const MachineNetwork row = machine({{kR, 4, 10.0}});
  CHECK(row.grid_broadcast(Bytes(80.0)) == Seconds(80.0 / 10));
  CHECK(row.grid_point_to_point(Bytes(80.0)) == Seconds(0.0));
  CHECK(machine({}).grid_broadcast(Bytes(80.0)) == Seconds(0.0));
  CHECK(machine({}).grid_point_to_point(Bytes(80.0)) == Seconds(0.0));
  // The slower of two dimensions across.
  const MachineNetwork three = machine({{kR, 4, 10.0}, {kR, 3, 2.0}, {kSw, 5, 1.0}});
  CHECK(three.grid_broadcast(Bytes(120.0)) == Seconds(120.0 / 12 / 1));
  CHECK(three.grid_point_to_point(Bytes(120.0)) == Seconds(120.0 / 5 / 2));
  // Dimensions of one member are not there, however slow and wherever they are.
  const std::vector<std::vector<Link>> like_two{{{kR, 4, 10.0}, {kR, 2, 5.0}, {kSw, 1, 1e-9}},
                                                {{kSw, 1, 1e-9}, {kR, 4, 10.0}, {kR, 2, 5.0}},
                                                {{kR, 4, 10.0}, {kFc, 1, 1e-9}, {kR, 2, 5.0}}};
  for (const std::vector<Link>& links : like_two) {
    CHECK(machine(links).grid().x == 4);
    CHECK(machine(links).grid().y == 2);
    CHECK(machine(links).grid_broadcast(Bytes(80.0)) == Seconds(80.0 / 4 / 5));
    CHECK(machine(links).grid_point_to_point(Bytes(80.0)) == Seconds(80.0 / 2 / 10));
  }
}

TEST_CASE("published, a broadcast goes over dimension 1, messages over dimension 0") {
  const Equations published = Equations::published();
  const MachineNetwork grid = machine({{kR, 4, 10.0}, {kR, 2, 5.0}}, published);
  CHECK(grid.grid_broadcast(Bytes(80.0)) == Seconds(80.0 / 4 / 5));
  CHECK(grid.grid_point_to_point(Bytes(80.0)) == Seconds(80.0 / 2 / 10));
  // A single dimension is a grid of one column.
  const MachineNetwork row = machine({{kR, 4, 10.0}}, published);
  CHECK(row.grid_broadcast(Bytes(80.0)) == Seconds(0.0));
  CHECK(row.grid_point_to_point(Bytes(80.0)) == Seconds(80.0 / 4 / 10));
  CHECK(machine({}, published).grid_point_to_point(Bytes(80.0)) == Seconds(0.0));
  const MachineNetwork one = machine({{kR, 4, 10.0}, {kR, 1, 5.0}}, published);
  CHECK(one.grid().x == 4);
  CHECK(one.grid_broadcast(Bytes(80.0)) == Seconds(80.0 / 4 / 5));
  CHECK(one.grid_point_to_point(Bytes(80.0)) == Seconds(0.0));
}

TEST_CASE("an all-to-all by dimensions takes the slowest of them") {
  // 8 chips send 8 * 3 B each; ring of 4: 4/8 of it, switch of 2: 1/2.
  CHECK(all_to_all({{kR, 4, 10.0}, {kSw, 2, 10.0}}, 3.0, kPerDimension) ==
        doctest::Approx(24.0 * 0.5 / 10.0));
  CHECK(all_to_all({{kR, 4, 10.0}, {kSw, 2, 2.0}}, 3.0, kPerDimension) ==
        doctest::Approx(24.0 * 0.5 / 2.0));
  // Fully connected four: a quarter over each link.
  CHECK(all_to_all({{kFc, 4, 10.0}}, 3.0, kPerDimension) == doctest::Approx(12.0 * 0.25 / 10.0));
  CHECK(all_to_all({}, 3.0, kPerDimension) == 0.0);
  CHECK(all_to_all({{kR, 1, 10.0}}, 3.0, kBisection) == 0.0);
}

TEST_CASE("an all-to-all over a bisection follows the table of topologies") {
  // Tori: all pairs n^2 / 2 over 2 | 2x ; 2y | 2xy ; 2xz ; 2yz links.
  CHECK(all_to_all({{kR, 6, 10.0}}, 3.0, kBisection) == doctest::Approx(3.0 * 18 / (2 * 10.0)));
  CHECK(all_to_all({{kR, 4, 10.0}, {kR, 2, 10.0}}, 3.0, kBisection) ==
        doctest::Approx(3.0 * 32 / (4 * 10.0)));
  CHECK(all_to_all({{kR, 4, 1.0}, {kR, 2, 100.0}}, 3.0, kBisection) ==
        doctest::Approx(3.0 * 32 / 8));
  // The published WSE-2 point: 8 x 8 x 16 at 450 GB/s, 837,000 B a pair.
  CHECK(all_to_all({{kR, 8, 450e9}, {kR, 8, 450e9}, {kR, 16, 450e9}}, 837000.0, kBisection) ==
        doctest::Approx(7618560e-9).epsilon(1e-14));
  CHECK(all_to_all({{kR, 2, 9.0}, {kR, 3, 9.0}, {kR, 4, 1.0}}, 1.0, kBisection) ==
        doctest::Approx(288.0 / (2 * 3 * 4)));  // dimension 2 is cut across y and z
  CHECK(all_to_all({{kR, 2, 9.0}, {kR, 3, 1.0}, {kR, 4, 9.0}}, 1.0, kBisection) ==
        doctest::Approx(288.0 / (2 * 2 * 4)));
  CHECK(all_to_all({{kR, 2, 1.0}, {kR, 3, 9.0}, {kR, 4, 9.0}}, 1.0, kBisection) ==
        doctest::Approx(288.0 / (2 * 2 * 3)));
  // Each cut of four rings has the product of the other degrees, in the order of the table.
  const std::vector<Link> four{{kR, 2, 1.0}, {kR, 3, 9e3}, {kR, 4, 9e3}, {kR, 5, 9e3}};
  CHECK(all_to_all(four, 1.0, kBisection) == doctest::Approx(120.0 * 120 / 2 / (2 * 2 * 3 * 4)));
  // Hierarchies: n^2 / 4 pairs of the group that a dimension completes.
  CHECK(all_to_all({{kFc, 8, 1.0}, {kFc, 4, 100.0}}, 3.0, kBisection) ==
        doctest::Approx(3.0 * 16 / 16));
  CHECK(all_to_all({{kFc, 8, 100.0}, {kFc, 4, 1.0}}, 3.0, kBisection) ==
        doctest::Approx(3.0 * 256 / 4));
  CHECK(all_to_all({{kR, 8, 1.0}, {kFc, 4, 1e6}}, 3.0, kBisection) ==
        doctest::Approx(3.0 * 16 / 2));
  CHECK(all_to_all({{kR, 8, 1e6}, {kSw, 4, 1.0}}, 3.0, kBisection) ==
        doctest::Approx(3.0 * 256 / 4));
  CHECK(all_to_all({{kSw, 8, 1.0}, {kSw, 4, 1e6}}, 3.0, kBisection) ==
        doctest::Approx(3.0 * 16 / 8));
  CHECK(all_to_all({{kR, 2, 1e6}, {kSw, 3, 1.0}, {kSw, 4, 1e6}}, 3.0, kBisection) ==
        doctest::Approx(3.0 * 9 / 3));
}

TEST_CASE("the pairs of a bisection are a switch of the equations") {
  const std::vector<Link> torus{{kR, 4, 1.0}, {kR, 4, 1.0}};
  CHECK(all_to_all(torus, 8.0, kBisection, PairCount::HalfSquare) ==
        doctest::Approx(8.0 * 128 / 8));
  CHECK(all_to_all(torus, 8.0, kBisection, PairCount::QuarterSquare) ==
        doctest::Approx(8.0 * 64 / 8));
  CHECK(all_to_all(torus, 8.0, kBisection, PairCount::AllPairs) == doctest::Approx(8.0 * 120 / 8));
  CHECK(all_to_all(torus, 8.0, kBisection, PairCount::Auto) == doctest::Approx(8.0 * 128 / 8));
  const std::vector<Link> dgx{{kSw, 4, 1.0}, {kSw, 4, 1.0}};
  CHECK(all_to_all(dgx, 8.0, kBisection, PairCount::HalfSquare) == doctest::Approx(8.0 * 128 / 4));
  CHECK(all_to_all(dgx, 8.0, kBisection, PairCount::Auto) == doctest::Approx(8.0 * 64 / 4));
}

TEST_CASE("dimensions without members do not count") {
  CHECK(all_to_all({{kR, 6, 10.0}, {kR, 1, 1.0}}, 3.0, kBisection) ==
        doctest::Approx(3.0 * 18 / (2 * 10.0)));
  CHECK(all_to_all({{kR, 6, 10.0}, {kSw, 1, 1.0}}, 3.0, kBisection) ==
        doctest::Approx(3.0 * 18 / (2 * 10.0)));
}

TEST_CASE("where kernels use the whole machine like rings are taken in every order") {
  Problem problem = test::idle_problem(1);
  problem.system.chips = 4;
  problem.system.network = {test::dimension(kR, 1, 1.0), test::dimension(kR, 1, 1.0)};
  for (NetworkDimension& d : problem.system.network) {
    d.degree.reset();
    d.strategy.reset();
  }
  problem.workload.network_use = NetworkUse::Tensor;
  CHECK(network_choices(problem).size() == 2);  // 1 x 4, 2 x 2
  Kernel kernel = problem.workload.graph.kernels()[0];
  kernel.spread = Spread::Grid;
  problem.workload.graph = DataflowGraph({kernel}, {});
  const auto networks = network_choices(problem);
  REQUIRE(networks.size() == 3);  // and 4 x 1
  for (const NetworkChoice& network : networks) {
    for (const Mapping::Dimension& d : network) CHECK(d.strategy == Strategy::Tensor);
  }
}

}  // namespace dfsearch
