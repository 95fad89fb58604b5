// Links and switch ports by hand, in $ and GB/s.  Prices and powers of the published machines are
// in tests/cli/validation_test.py.

#include "model/machine/price_power.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "support/model_worlds.hpp"

namespace dfsearch {
namespace {

constexpr double kGigabyte = 1e9;

struct Cable {
  Topology topology;
  std::int64_t degree;
  double bandwidth;  // GB/s
};

/// A machine without chips' and memory's price: 2 $ a link, 24 $ a switch port.
Machine network_of(const std::vector<Cable>& cables) {
  Machine system;
  for (const Cable& c : cables) {
    system.chips *= c.degree;
    system.network.push_back(test::dimension(c.topology, c.degree, c.bandwidth * kGigabyte));
    system.price.link.emplace_back(2.0 / kGigabyte);
    system.power.link.emplace_back(0.052 / kGigabyte);
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

constexpr Topology kRing = Topology::Ring;
constexpr Topology kFull = Topology::FullyConnected;
constexpr Topology kSwitch = Topology::Switch;

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
