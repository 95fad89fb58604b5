// A closed loop whose prefill is apart: a worked case of an independent program, Little's law, and
// the limits that other users wait at.

#include "model/serving/apart_loop.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

namespace dfsearch {
namespace {

using namespace serving;

/// Seconds of a pass: a part that all share, and one of each request.
double iteration(double running) { return 20e-3 + 0.2e-3 * running; }

constexpr ApartLoop kLoop{.users = 128.0,
                          .most = 11.0,
                          .first = 0.12,
                          .pass = 85e-3,
                          .capacity = 1.0 / 85e-3,
                          .steps = 499.0,
                          .places = 8.0};

TEST_CASE("users of a loop whose prefill is apart decode, wait or are prefilled") {
  const ApartFigures found = apart_loop(kLoop, 1e6, &iteration);
  const double turn = iteration(found.running);
  CHECK(found.throughput == doctest::Approx(8.0 * found.running / (499.0 * turn)).epsilon(1e-14));
  CHECK(found.throughput < kLoop.most);
  const double load = found.throughput / kLoop.capacity;
  const double wait = load / (2.0 * (1.0 - load)) * kLoop.pass;
  CHECK(found.ttft == doctest::Approx(kLoop.first + wait).epsilon(1e-11));
  CHECK(found.throughput * (found.ttft + 499.0 * turn) == doctest::Approx(128.0).epsilon(1e-12));
}

TEST_CASE("a limit of slots or of prefill leaves the other users waiting") {
  const ApartFigures slots = apart_loop(kLoop, 4.0, &iteration);
  CHECK(slots.running == 4.0);
  CHECK(slots.ttft == doctest::Approx((128.0 - 32.0) / slots.throughput));
  ApartLoop slow = kLoop;
  slow.most = 2.0;
  const ApartFigures paced = apart_loop(slow, 1e6, &iteration);
  CHECK(paced.throughput == doctest::Approx(2.0).epsilon(1e-12));
  CHECK(paced.ttft == doctest::Approx((128.0 - 8.0 * paced.running) / 2.0));
  ApartLoop alone = kLoop;
  alone.steps = 0.0;  // no request has a second token
  const ApartFigures first = apart_loop(alone, 1e6, &iteration);
  CHECK(first.running == 0.0);
  CHECK(first.throughput == alone.most);
  CHECK(first.ttft == doctest::Approx(128.0 / 11.0));
}

TEST_CASE("less time before decoding, more slots and more users never serve less") {
  double before = 0.0;
  for (const double slots : {0.5, 1.0, 2.0, 7.0, 15.0, 16.0, 100.0}) {
    const double now = apart_loop(kLoop, slots, &iteration).throughput;
    CHECK(now >= before);
    before = now;
  }
  for (double users = 1.0; users < 1000.0; users *= 1.3) {
    ApartLoop few = kLoop, more = kLoop, slow = kLoop;
    few.users = slow.users = users;
    more.users = 1.3 * users;
    slow.first *= 2.0;
    slow.pass *= 1.5;
    const ApartFigures found = apart_loop(few, 64.0, &iteration);
    CHECK(apart_loop(more, 64.0, &iteration).throughput >= found.throughput * (1.0 - 1e-12));
    CHECK(apart_loop(slow, 64.0, &iteration).running <= found.running * (1.0 + 1e-12));
  }
}

}  // namespace
}  // namespace dfsearch
