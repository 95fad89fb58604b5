#include "technology/chip.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace dfsearch {
namespace {

const Transistors kCore{.frequency = Hertz(1.33e9),
                        .voltage = Volts(0.8),
                        .threshold = Volts(0.2),
                        .minimum = Volts(0.55),
                        .maximum = Volts(1.0)};

TEST_CASE("at the nominal power a part runs at its nominal point") {
  const OperatingPoint point = operating_point(kCore, Watts(100.0), Watts(100.0));
  CHECK(point.voltage.in_base_units() == doctest::Approx(0.8).epsilon(1e-15));
  CHECK(point.frequency.in_base_units() == doctest::Approx(1.33e9).epsilon(1e-14));
  CHECK(point.limit == SpeedLimit::Power);
}

TEST_CASE("a voltage is the greatest whose cubic is within the power") {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-6.0, 6.0);
  for (int i = 0; i < 1000; ++i) {
    const double share = std::pow(10.0, exponent(random));
    const double v = voltage_of_power(kCore, share).in_base_units();
    const auto cubic = [](double x) { return x * ((x - 0.2) * (x - 0.2)); };
    const double limit = share * cubic(0.8);
    CAPTURE(share);
    CHECK(cubic(v) <= limit);
    CHECK(cubic(std::nextafter(v, 10.0 * v)) > limit);
  }
}

TEST_CASE("below the least voltage a part is clocked down, and draws exactly its power") {
  // At 0.55 V a V100 core is (0.35^2 / 0.55) / (0.6^2 / 0.8) = 0.49495 as fast as at 0.8 V and
  // draws 0.49495 (0.55 / 0.8)^2 = 0.23394 of the nominal power; half of that is half as fast.
  const double least = 0.35 * 0.35 / 0.55 / (0.6 * 0.6 / 0.8);
  const double draws = least * (0.55 / 0.8) * (0.55 / 0.8);
  const Watts power(0.5 * draws);
  const OperatingPoint point = operating_point(kCore, power, Watts(1.0));
  CHECK(point.voltage == Volts(0.55));
  CHECK(point.limit == SpeedLimit::MinimumVoltage);
  CHECK(point.frequency.in_base_units() == doctest::Approx(0.5 * least * 1.33e9).epsilon(1e-14));
  CHECK(drawn_power(kCore, point, Watts(1.0)) / power == doctest::Approx(1.0).epsilon(1e-14));
  const OperatingPoint squared = operating_point(kCore, power, Watts(1.0), VoltageFloor::Squared);
  CHECK(squared.frequency > point.frequency);
  CHECK(drawn_power(kCore, squared, Watts(1.0)) > power);
}

TEST_CASE("at the greatest voltage power is left over") {
  const OperatingPoint point = operating_point(kCore, Watts(1e3), Watts(1.0));
  CHECK(point.voltage == Volts(1.0));
  CHECK(point.limit == SpeedLimit::MaximumVoltage);
  CHECK(drawn_power(kCore, point, Watts(1.0)) < Watts(1e3));
  CHECK(operating_point(kCore, Watts(1e9), Watts(1.0)).frequency == point.frequency);
}

TEST_CASE("nothing runs without power, and nothing is run by power without units") {
  CHECK(operating_point(kCore, Watts(0.0), Watts(1.0)).frequency == Hertz(0.0));
  CHECK(operating_point(kCore, Watts(1.0), Watts(0.0)).frequency == Hertz(0.0));
}

TEST_CASE("the frequency never falls when the power grows, to the last bit") {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  for (int i = 0; i < 20'000; ++i) {
    Transistors part{.frequency = Hertz(1e9 * (0.5 + unit(random))),
                     .voltage = Volts(0.6 + unit(random)),
                     .threshold = Volts(0.1 + 0.4 * unit(random)),
                     .minimum = Volts(),
                     .maximum = Volts::infinity()};
    part.minimum = part.threshold + Volts(0.5 * unit(random));
    if (random() % 2 == 0) part.maximum = part.minimum + Volts(unit(random));
    const Watts nominal(1.0 + 100.0 * unit(random));
    const auto floor = random() % 2 == 0 ? VoltageFloor::Exact : VoltageFloor::Squared;
    // Around the two ends of the law, where a rounding could break it, and anywhere.
    const Watts edges[] = {
        drawn_power(part, {part.minimum, part.frequency, SpeedLimit::Power}, nominal),
        nominal * std::pow(10.0, 4.0 * unit(random) - 3.0)};
    for (const Watts around : edges) {
      double p = around.in_base_units();
      Hertz before{};
      for (int step = 0; step < 8; ++step) {
        const Hertz f = operating_point(part, Watts(p), nominal, floor).frequency;
        CHECK(f >= before);
        before = f;
        p = step % 2 == 0 ? std::nextafter(p, 1e300) : p * (1.0 + 1e-13);
      }
    }
  }
}

}  // namespace
}  // namespace dfsearch
