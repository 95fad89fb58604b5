// Links and switch ports of the published networks.  Prices are $ and bandwidths
// GB/s, as published; each case is named.  Published inputs are 32-bit floats
// (0.0104 is 0.01040000002831...), so power agrees to 1e-7.

#include "model/machine/price_power.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "support/model_worlds.hpp"

namespace dfsearch {
namespace {

constexpr double kGigabyte = 1e9;

struct Cable {
  Topology topology;
  std::int64_t degree;
  double bandwidth;  // GB/s
  double watts = 0.052;
};

/// A machine without chips' and memory's price: 2 $ a link, 24 $ a switch port.
Machine network_of(const std::vector<Cable>& cables) {
  Machine system;
  for (const Cable& c : cables) {
    system.chips *= c.degree;
    system.network.push_back(test::dimension(c.topology, c.degree, c.bandwidth * kGigabyte));
    system.price.link.emplace_back(2.0 / kGigabyte);
    system.power.link.emplace_back(c.watts / kGigabyte);
  }
  system.price.switch_port = DollarsPerBandwidth(24.0 / kGigabyte);
  system.power.switch_port = WattsPerBandwidth(0.052 / kGigabyte);
  return system;
}

/// Published parts, unless the equations are given.
Problem problem_of(const Machine& system, const Equations& equations = Equations::published()) {
  Problem problem;
  problem.system = system;
  problem.equations = equations;
  return problem;
}
double price(const Machine& system) {
  return system_price(problem_of(system), test::network_of(system)).in_base_units();
}
double power(const Machine& system) {
  return system_power(problem_of(system), test::network_of(system)).in_base_units();
}
double physical_price(const Machine& system) {
  return system_price(problem_of(system, {}), test::network_of(system)).in_base_units();
}

double sum(const std::vector<double>& parts) {
  double total = 0.0;
  for (const double part : parts) total += part;
  return total;
}

struct Published {
  const char* name;
  std::vector<Cable> cables;
  std::vector<double> links, switches;           // $ for each dimension
  std::vector<double> link_power, switch_power;  // W; empty where not published
};

constexpr Topology kRing = Topology::Ring;
constexpr Topology kFull = Topology::FullyConnected;
constexpr Topology kSwitch = Topology::Switch;

std::vector<Published> published() {
  return {
      {"2-D torus: h100 2d_torus hbm nvlink",
       {{kRing, 8, 450, 0.0104}, {kRing, 128, 50}},
       {921600, 102400},
       {2764800, 19200},
       {4792.320013046265, 2662.4000549316406},
       {5990.400123596191, 41.600000858306885}},
      {"2-D torus: dfmodel_4x2 (old)",
       {{kRing, 4, 50}, {kRing, 2, 50}},
       {800, 800},
       {4800, 9600},
       {20.800000429153442, 20.800000429153442},
       {10.400000214576721, 20.800000429153442}},
      {"ring: dfmodel_8x1 (new)",
       {{kRing, 8, 25}},
       {400},
       {1200},
       {10.400000214576721},
       {2.6000000536441803}},
      {"3-D torus: sn30 3d_torus hbm nvlink",
       {{kRing, 8, 450, 0.0104}, {kRing, 64, 50}, {kRing, 2, 50}},
       {921600, 102400, 102400},
       {2764800, 38400, 1228800},
       {4792.320013046265, 2662.4000549316406, 2662.4000549316406},
       {5990.400123596191, 83.20000171661377, 2662.4000549316406}},
      {"dragonfly: h100 dragonfly hbm pcie",
       {{kFull, 8, 50}, {kFull, 128, 50}},
       {716800, 1625600},
       {0, 19660800},
       {18636.800384521484, 42265.600872039795},
       {0, 42598.40087890625}},
      {"dragonfly: DLRM sn30 dragonfly ddr pcie",
       {{kFull, 32, 50}, {kFull, 32, 50}},
       {3174400, 99200},
       {0, 1228800},
       {82534.40170288086, 2579.200053215027},
       {0, 2662.4000549316406}},
      {"DGX-1: h100 dgx_1 ddr nvlink",
       {{kRing, 8, 450, 0.0104}, {kSwitch, 128, 50}},
       {921600, 12800},
       {2764800, 153600},
       {4792.320013046265, 332.8000068664551},
       {5990.400123596191, 332.8000068664551}},
      {"DGX-2: sn30 dgx_2 ddr nvlink",
       {{kSwitch, 8, 450, 0.0104}, {kSwitch, 128, 50}},
       {921600, 12800},
       {11059200, 153600},
       {4792.320013046265, 332.8000068664551},
       {23961.600494384766, 332.8000068664551}},
      {"three switches: Calculon fix_PP/8_32_16",
       {{kSwitch, 8, 150}, {kSwitch, 32, 25}, {kSwitch, 16, 25}},
       {1228800, 25600, 800},
       {14745600, 307200, 9600},
       {},
       {}},
      {"ZionEX: Compare DLRM-A, 128 A100 (totals published)",
       {{kRing, 8, 600, 0.0104}, {kFull, 16, 25}},
       {165600},
       {614400},
       {},
       {}},
  };
}

TEST_CASE("links and switches cost what the published networks cost") {
  for (const Published& one : published()) {
    CAPTURE(one.name);
    CHECK(price(network_of(one.cables)) ==
          doctest::Approx(sum(one.links) + sum(one.switches)).epsilon(1e-12));
  }
}

TEST_CASE("links alone and switches alone do, too") {
  for (const Published& one : published()) {
    CAPTURE(one.name);
    Machine links = network_of(one.cables);
    links.price.switch_port = {};
    CHECK(price(links) == doctest::Approx(sum(one.links)).epsilon(1e-12));
    Machine switches = network_of(one.cables);
    switches.price.link.clear();
    CHECK(price(switches) == doctest::Approx(sum(one.switches)).epsilon(1e-12));
  }
}

TEST_CASE("so does each dimension by itself") {
  for (const Published& one : published()) {
    CAPTURE(one.name);
    if (one.links.size() != one.cables.size()) continue;  // totals only
    for (std::size_t d = 0; d < one.cables.size(); ++d) {
      CAPTURE(d);
      Machine system = network_of(one.cables);
      for (std::size_t other = 0; other < one.cables.size(); ++other) {
        if (other != d) system.network[other].bandwidth = {};
      }
      CHECK(price(system) == doctest::Approx(one.links[d] + one.switches[d]).epsilon(1e-12));
    }
  }
}

TEST_CASE("links and switches draw what the published networks draw") {
  for (const Published& one : published()) {
    CAPTURE(one.name);
    if (one.link_power.empty()) continue;
    CHECK(power(network_of(one.cables)) ==
          doctest::Approx(sum(one.link_power) + sum(one.switch_power)).epsilon(1e-7));
  }
}

// ZionEX: 8 x 16 chips.  Ring: 128 x 600 GB/s x 0.0104 W; fully connected: 16
// groups x 15 x 25 GB/s x 0.052 W.  The run has no power for switches.
TEST_CASE("the links of ZionEX draw what is published") {
  Machine system = network_of({{kRing, 8, 600, 0.0104}, {kFull, 16, 25}});
  system.power.switch_port = {};
  CHECK(power(system) == doctest::Approx(798.7200021743774 + 312.00000643730164).epsilon(1e-7));
}

// "h100 2d_torus hbm nvlink": 1024 chips of 33000 $ and 750 W, memory of
// 3072 GB/s at 1 $ and 0.05624 W per GB/s.
TEST_CASE("a whole machine costs and draws what is published") {
  Machine system = network_of({{kRing, 8, 450, 0.0104}, {kRing, 128, 50}});
  system.memory[0].bandwidth = BytesPerSecond(3072e9);
  system.price.accelerator = Dollars(33000.0);
  system.price.memory = DollarsPerBandwidth(1.0 / kGigabyte);
  system.power.accelerator = Watts(750.0);
  system.power.memory = WattsPerBandwidth(0.05624 / kGigabyte);
  CHECK(price(system) == doctest::Approx(40745728.0).epsilon(1e-12));
  CHECK(power(system) == doctest::Approx(958402.4623799324).epsilon(1e-7));
}

// Chips alone: 1 x 10 $; no link, no switch.
TEST_CASE("one chip needs no network") {
  Machine system = network_of({{kRing, 1, 50}});
  system.price.accelerator = Dollars(10.0);
  CHECK(price(system) == 10.0);
  CHECK(power(system) == 0.0);
  system = network_of({{kSwitch, 1, 50}});
  CHECK(price(system) == 0.0);
}

// Four chips in a ring: 4 links x 50 GB/s x 2 $, no switch; five: 5 links, and
// 2 x 5/5 ports x 50 GB/s x 24 $.
TEST_CASE("up to four chips need links and no switch") {
  CHECK(price(network_of({{kRing, 4, 50}})) == doctest::Approx(400.0).epsilon(1e-12));
  CHECK(price(network_of({{kSwitch, 4, 50}})) == doctest::Approx(400.0).epsilon(1e-12));
  CHECK(price(network_of({{kRing, 2, 50}, {kSwitch, 2, 50}})) ==
        doctest::Approx(400.0 + 200.0).epsilon(1e-12));
  CHECK(power(network_of({{kRing, 4, 50}})) == doctest::Approx(10.4).epsilon(1e-12));
  CHECK(price(network_of({{kRing, 5, 50}})) == doctest::Approx(500.0 + 2400.0).epsilon(1e-12));
}

TEST_CASE("what has no price costs nothing") {
  Machine system = network_of({{kRing, 8, 450}, {kFull, 16, 50}});
  system.price = {};
  system.power = {};
  CHECK(price(system) == 0.0);
  CHECK(power(system) == 0.0);
}

TEST_CASE("the degrees are those of the mapping") {
  Machine system = network_of({{kRing, 8, 50}, {kSwitch, 2, 50}});
  // 16 chips as 4 x 4: ring 16 links and 2 x 16/4 ports; switch 4 links, 4 ports.
  const Dollars other = system_price(
      problem_of(system),
      {{.degree = 4, .strategy = Strategy::Data}, {.degree = 4, .strategy = Strategy::Data}});
  CHECK(other.in_base_units() ==
        doctest::Approx(50.0 * (2.0 * (16 + 4) + 24.0 * (8 + 4))).epsilon(1e-12));
}

// 1,024 chips, each with a link of both dimensions; $ 2 a link and 24 a port, GB/s.
TEST_CASE("physically every chip has a link of each dimension, as the times count them") {
  const Machine switches = network_of({{kSwitch, 16, 450}, {kSwitch, 64, 50}});
  CHECK(physical_price(switches) == doctest::Approx(1024.0 * (450 + 50) * (2 + 24)).epsilon(1e-12));
  // 7 and 127 links, no switch; published 127 * 128 for all and 128 * 128 ports.
  const Machine dragonfly = network_of({{kFull, 8, 50}, {kFull, 128, 50}});
  CHECK(physical_price(dragonfly) == doctest::Approx(1024.0 * (7 + 127) * 50 * 2).epsilon(1e-12));
  // A dimension of one member is not there, wherever it is.
  const Machine ring = network_of({{kRing, 8, 450}});
  const double alone = 8 * 450.0 * 2 + 2.0 * 450 * 24;
  CHECK(physical_price(ring) == doctest::Approx(alone).epsilon(1e-12));
  for (const Topology t : {kRing, kFull, kSwitch}) {
    CHECK(physical_price(network_of({{kRing, 8, 450}, {t, 1, 50}})) == physical_price(ring));
    CHECK(physical_price(network_of({{t, 1, 50}, {kRing, 8, 450}})) == physical_price(ring));
  }
}

}  // namespace
}  // namespace dfsearch
