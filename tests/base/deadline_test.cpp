#include "base/deadline.hpp"

#include <doctest/doctest.h>

#include <atomic>

namespace dfsearch {
namespace {

TEST_CASE("a deadline that is none never passes") {
  const Deadline never;
  CHECK_FALSE(never.has_passed());
  CHECK_NOTHROW(never.check());
  CHECK_FALSE(Deadline(Seconds::infinity()).has_passed());
  CHECK_FALSE(Deadline(Seconds(1e30)).has_passed());  // beyond what a clock can count
}

TEST_CASE("a deadline passes by its time or by its flag") {
  CHECK(Deadline(Seconds(0.0)).is_over());
  CHECK(Deadline(Seconds(-1.0)).is_over());
  CHECK_THROWS_AS(Deadline(Seconds(0.0)).check(), Stopped);
  std::atomic<bool> stop{false};
  const Deadline flagged(Seconds(1e6), &stop);
  CHECK_FALSE(flagged.has_passed());
  stop = true;
  CHECK(flagged.is_stopped());
  CHECK_FALSE(flagged.is_over());
  CHECK(flagged.has_passed());
  CHECK_THROWS_AS(flagged.check(), Stopped);
}

TEST_CASE("a part of the work ends with the whole at the latest") {
  std::atomic<bool> stop{false};
  const Deadline whole(Seconds(1e6), &stop);
  CHECK(whole.within(Seconds(0.0)).is_over());
  CHECK_FALSE(whole.within(Seconds(1e8)).is_over());
  CHECK(Deadline(Seconds(0.0)).within(Seconds(1e6)).is_over());
  CHECK(Deadline(Seconds(0.0)).within(Seconds::infinity()).is_over());
  stop = true;
  CHECK(whole.within(Seconds(1e3)).is_stopped());
}

TEST_CASE("a paced deadline looks once in so many steps") {
  const std::atomic<bool> stop{true};
  PacedDeadline paced(Deadline(Seconds::infinity(), &stop), 100);
  for (int i = 0; i < 99; ++i) REQUIRE_NOTHROW(paced.check());
  CHECK_THROWS_AS(paced.check(), Stopped);
  CHECK_NOTHROW(paced.check(99));
  CHECK_THROWS_AS(paced.check(1'000'000), Stopped);
}

}  // namespace
}  // namespace dfsearch
