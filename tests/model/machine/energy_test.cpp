// Energy of runs against worked figures of an H100 and a B200, and bounds against all clocks.

#include "model/machine/energy.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace dfsearch {
namespace {

EnergyRates h100() {
  EnergyRates rates{.idle = Watts(340),
                    .host = {},
                    .flop = {},
                    .memory = JoulesPerByte(50e-12),
                    .link = JoulesPerByte(11e-12),
                    .cap = Watts(0.97 * 700)};
  rates.flop.of[static_cast<std::size_t>(Math::Bf16)] = JoulesPerFlop(0.6e-12);
  rates.flop.of[static_cast<std::size_t>(Math::Fp8)] = JoulesPerFlop(0.33e-12);
  return rates;
}

EnergyWork work_of(const EnergyRates& rates, Math math, double flop, double bytes) {
  return {.math = Flops(flop) * rates.of(math), .memory = Bytes(bytes) * rates.memory, .links = {}};
}

auto about(double value) { return doctest::Approx(value).epsilon(1e-12); }

TEST_CASE("a run takes what its chips idle for, and its work") {
  const EnergyRates rates = h100();
  // A second of 8 H100 that decode a model of 405 billion parameters in fp8.
  const Energy decode = energy_of(rates, 8, Seconds(1), work_of(rates, Math::Fp8, 250e12, 12.2e12));
  CHECK(decode.sum().in_base_units() == about(3412.5));
  CHECK(decode.clock == 1.0);
  const Energy step = energy_of(rates, 4, Seconds(0.1), work_of(rates, Math::Bf16, 100e12, 400e9));
  CHECK(step.product() == about(21.6));
  CHECK(rates.of(Math::Int8) == rates.of(Math::Bf16));
}

TEST_CASE("a cap lowers the clock until the power of a chip is the cap") {
  const EnergyRates rates = h100();
  const Energy product = energy_of(rates, 1, Seconds(1), work_of(rates, Math::Bf16, 920e12, 1e12));
  CHECK(product.power().in_base_units() == about(679));
  CHECK(product.sum().in_base_units() == about(822.2465096649582));
  CHECK(product.clock == doctest::Approx(0.826).epsilon(1e-3));
  EnergyRates free = rates;
  free.cap = Watts::infinity();
  CHECK(energy_of(free, 1, Seconds(1), work_of(rates, Math::Bf16, 920e12, 1e12)).clock == 1.0);
}

TEST_CASE("no clock takes less than the bound") {
  const EnergyRates rates = h100();
  const double chip_time = std::max(1e18 / 989.4e12, 100e12 / 3.35e12);
  const EnergyWork least = work_of(rates, Math::Bf16, 1e18, 100e12);
  CHECK(energy_bound(rates, Seconds(chip_time), least.sum()).in_base_units() ==
        about(784195.5794608672));
  std::mt19937_64 random(7);
  const auto draw = [&random](double low, double high) {
    return std::exp(std::uniform_real_distribution(std::log(low), std::log(high))(random));
  };
  for (int seed = 0; seed < 2000; ++seed) {
    EnergyRates some{.idle = Watts(draw(1, 1000)), .host = Watts(draw(1, 300))};
    some.cap = some.idle + Watts(draw(1, 1000));
    const double chips = std::floor(draw(1, 1000));
    const Seconds time(draw(1e-3, 1e3));
    const Joules work(draw(1, 1e6));
    const double bound = energy_bound(some, chips * time, work).in_base_units();
    const Energy run = energy_of(some, chips, time, {.math = work, .memory = {}, .links = {}});
    CHECK(run.sum().in_base_units() >= bound * (1 - 1e-12));
    const double idle = (chips * (some.idle + some.host) * time).in_base_units();
    const auto at = [&](double f) { return idle / f + work.in_base_units() * f * f; };
    const double best = std::min(1.0, std::cbrt(idle / (2.0 * work.in_base_units())));
    CHECK(at(best) == doctest::Approx(bound).epsilon(1e-9));
    CHECK(at(std::min(1.0, best * 1.05)) >= bound * (1 - 1e-12));
    CHECK(at(best * 0.95) >= bound * (1 - 1e-12));
  }
}

TEST_CASE("the caps of least energy and of least EDP are no worse than any other cap") {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> watts(1.0, 500.0), work(1.0, 5000.0);
  int lowered = 0;
  for (int seed = 0; seed < 500; ++seed) {
    EnergyRates rates{.idle = Watts(watts(random)), .host = Watts(watts(random))};
    const Watts limit = rates.idle + Watts(work(random));  // the cap of the chip
    const EnergyWork done{.math = Joules(work(random)), .memory = Joules(1.0), .links = {}};
    const auto under = [&](Watts cap) {
      rates.cap = std::min(cap, limit);
      return energy_of(rates, 2.0, Seconds(1.5), done);
    };
    const Watts all = rates.idle + rates.host;
    const Energy least = under(rates.idle + 0.5 * all), fastest = under(rates.idle + 2.0 * all);
    lowered += least.clock < under(limit).clock;
    for (double share = 0.05; share < 8.0; share *= 1.1) {
      const Energy other = under(rates.idle + share * all);
      CHECK(least.sum() <= other.sum() * (1 + 1e-12));
      CHECK(fastest.product() <= other.product() * (1 + 1e-12));
    }
  }
  CHECK(lowered > 100);
  const Energy product =
      energy_of(h100(), 1, Seconds(1), work_of(h100(), Math::Bf16, 920e12, 1e12));
  EnergyRates capped = h100();
  capped.cap = Watts(510);
  const Energy slower = energy_of(capped, 1, Seconds(1), work_of(capped, Math::Bf16, 920e12, 1e12));
  CHECK(slower.clock == about(0.6560709528292665));
  CHECK(slower.sum() < product.sum());
}

}  // namespace
}  // namespace dfsearch
