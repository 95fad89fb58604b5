#include "model/clock.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>

namespace dfsearch {
namespace {

TEST_CASE("the tick is the power of two that is 2^-50 of the reference") {
  CHECK(Clock(Seconds(1.0)).exponent() == -50);
  CHECK(Clock(Seconds(1.999)).exponent() == -50);
  CHECK(Clock(Seconds(2.0)).exponent() == -49);
  CHECK(Clock(Seconds(0.75)).exponent() == -51);
  CHECK(Clock(Seconds(1.0)).ticks(Seconds(1.0)) == Ticks{1} << 50);
}

TEST_CASE("a coarser clock has longer ticks and tells longer times") {
  const Clock clock(Seconds(1.0), 10);
  CHECK(clock.exponent() == -40);
  CHECK(clock.ticks(Seconds(1.0)) == Ticks{1} << 40);
  CHECK(clock.ticks(Seconds(0x1p-50)) == 1);
  CHECK(clock.ticks(Seconds(0x1p20)) == Ticks{1} << 60);
}

TEST_CASE("whole ticks are kept and parts of one count as one") {
  const Clock clock(Seconds(1.0));
  CHECK(clock.ticks(Seconds(0.0)) == 0);
  CHECK(clock.ticks(Seconds(0x1p-50)) == 1);
  CHECK(clock.ticks(Seconds(0x1p-51)) == 1);
  CHECK(clock.ticks(Seconds(1e-300)) == 1);
  CHECK(clock.ticks(Seconds(0x1p-50 + 0x1p-64)) == 2);
  CHECK(clock.ticks(Seconds(0x3p-50)) == 3);
}

TEST_CASE("ticks are never shorter than the duration and less than one tick longer") {
  const Clock clock(Seconds(37.0));
  for (int i = 1; i < 1000; ++i) {
    CAPTURE(i);
    const Seconds duration(i * 0.037 / 3.0);
    const Seconds rounded = clock.seconds(clock.ticks(duration));
    CHECK(rounded >= duration);
    // 37 lies between 2^5 and 2^6, so a tick is 2^-45.
    CHECK(rounded - duration < Seconds(0x1p-45));
  }
}

TEST_CASE("seconds give the ticks back") {
  const Clock clock(Seconds(3e-6));
  for (const Ticks ticks : {Ticks{0}, Ticks{1}, Ticks{12345}, (Ticks{1} << 50) + 1}) {
    CHECK(clock.ticks(clock.seconds(ticks)) == ticks);
  }
}

TEST_CASE("a longer duration never has fewer ticks") {
  const Clock clock(Seconds(5.0));
  Ticks last = 0;
  for (double t = 1e-18; t < 1e3; t *= 1.7) {
    const Ticks ticks = clock.ticks(Seconds(t));
    CHECK(ticks >= last);
    last = ticks;
  }
}

TEST_CASE("what is past the end of the clock never comes") {
  const Clock clock(Seconds(1.0));
  CHECK(clock.ticks(Seconds::infinity()) == kNever);
  CHECK(clock.ticks(Seconds(1e300)) == kNever);
  // kNever is 2^61 ticks of 2^-50 s, 2048 s, less one tick.
  CHECK(clock.ticks(Seconds(32769.0)) == kNever);
  CHECK(clock.ticks(Seconds(2047.0)) == Ticks{2047} << 50);
}

TEST_CASE("compute, memory, network and weights that never come can be added up") {
  CHECK(kNever + kNever + kNever + kNever > kNever);
}

TEST_CASE("very long and very short layers have a clock") {
  for (const double reference : {1e-30, 1e-9, 1.0, 1e12, 1e30}) {
    CAPTURE(reference);
    const Clock clock{Seconds(reference)};
    const double back = clock.seconds(clock.ticks(Seconds(reference / 3.0))).in_base_units() * 3.0;
    CHECK(std::abs(back / reference - 1.0) < 1e-13);
  }
}

}  // namespace
}  // namespace dfsearch
