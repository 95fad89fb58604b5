#include "base/units.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <type_traits>

namespace dfsearch {
namespace {

// Promises of the type system.  Nothing here runs: a line that no longer holds stops the build.

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Subtractable = requires(A a, B b) {
  a - b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};
template <class A, class B>
concept Assignable = requires(A a, B b) {
  a = b;
};
template <class A, class B>
concept AddAssignable = requires(A a, B b) {
  a += b;
};

static_assert(Addable<Seconds, Seconds>);
static_assert(!Addable<Seconds, Bytes>);
static_assert(!Addable<Bytes, BytesPerSecond>);
static_assert(!Addable<Flops, FlopsPerSecond>);
static_assert(!Addable<Dollars, Watts>);
static_assert(!Addable<Seconds, double>);
static_assert(!Addable<double, Bytes>);
static_assert(!Subtractable<Seconds, Bytes>);
static_assert(!AddAssignable<Seconds&, Bytes>);

static_assert(Comparable<Seconds, Seconds>);
static_assert(!Comparable<Seconds, Bytes>);
static_assert(!Comparable<Seconds, double>);

static_assert(!Assignable<Seconds&, double>, "a bare number has no unit");
static_assert(!std::convertible_to<double, Seconds>);
static_assert(!std::convertible_to<Seconds, double>);
static_assert(!std::constructible_from<Seconds, Bytes>);

template <class A, class B>
using Product = decltype(std::declval<A>() * std::declval<B>());
template <class A, class B>
using Quotient = decltype(std::declval<A>() / std::declval<B>());

static_assert(std::same_as<Quotient<Bytes, BytesPerSecond>, Seconds>);
static_assert(std::same_as<Quotient<Flops, FlopsPerSecond>, Seconds>);
static_assert(std::same_as<Quotient<Bytes, Seconds>, BytesPerSecond>);
static_assert(std::same_as<Quotient<Flops, Bytes>, FlopsPerByte>);
static_assert(std::same_as<Product<BytesPerSecond, Seconds>, Bytes>);
static_assert(std::same_as<Product<Flops, Hertz>, FlopsPerSecond>);
static_assert(std::same_as<Product<DollarsPerBandwidth, BytesPerSecond>, Dollars>);
static_assert(std::same_as<Product<Length, Length>, Area>);
static_assert(std::same_as<Product<Length, PerLength>, double>);
static_assert(std::same_as<Product<Bytes, AreaPerByte>, Area>);
static_assert(std::same_as<Product<Bytes, WattsPerByte>, Watts>);
static_assert(std::same_as<Product<BytesPerSecond, JoulesPerByte>, Watts>);
static_assert(std::same_as<Product<BytesPerSecond, WattsPerBandwidth>, Watts>);
static_assert(std::same_as<Quotient<FlopsPerSecond, Dollars>, FlopsPerSecondPerDollar>);
static_assert(std::same_as<Quotient<FlopsPerSecond, Watts>, FlopsPerSecondPerWatt>);
static_assert(std::same_as<Quotient<Seconds, Seconds>, double>);
static_assert(std::same_as<Product<Seconds, Hertz>, double>);
static_assert(std::same_as<Product<Seconds, double>, Seconds>);

static_assert(sizeof(Seconds) == sizeof(double));
static_assert(std::is_trivially_copyable_v<Seconds>);
static_assert(std::atomic<Seconds>::is_always_lock_free);

TEST_CASE("a quantity starts at zero") {
  CHECK(Seconds{} == Seconds(0.0));
  CHECK(Bytes{}.in_base_units() == 0.0);
}

TEST_CASE("like quantities add and subtract") {
  CHECK(Seconds(1.5) + Seconds(0.25) == Seconds(1.75));
  CHECK(Seconds(1.5) - Seconds(0.25) == Seconds(1.25));
  Bytes sum{};
  sum += Bytes(3.0);
  sum += Bytes(4.0);
  sum -= Bytes(2.0);
  CHECK(sum == Bytes(5.0));
}

TEST_CASE("numbers scale a quantity from either side") {
  CHECK(Flops(3.0) * 2.0 == Flops(6.0));
  CHECK(2.0 * Flops(3.0) == Flops(6.0));
  CHECK(Flops(3.0) / 2.0 == Flops(1.5));
}

TEST_CASE("bytes over bandwidth are the time of the transfer") {
  constexpr Seconds transfer = Bytes(100e9) / BytesPerSecond(50e9);
  static_assert(transfer == Seconds(2.0));
  CHECK(transfer.in_base_units() == 2.0);
}

TEST_CASE("the quotient of like quantities is a plain number") {
  CHECK(Seconds(3.0) / Seconds(2.0) == 1.5);
}

TEST_CASE("comparisons follow the numbers") {
  const Seconds less(1.0);
  const Seconds more(2.0);
  CHECK(less < more);
  CHECK(less <= more);
  CHECK(more > less);
  CHECK(more >= less);
  CHECK(less != more);
  CHECK(std::max(less, more) == more);
  CHECK_FALSE(less < less);
  CHECK(less <= less);
}

TEST_CASE("infinity is above everything finite and stays when added to") {
  CHECK(Seconds(1e300) < Seconds::infinity());
  CHECK(Seconds::infinity() + Seconds(1.0) == Seconds::infinity());
}

}  // namespace
}  // namespace dfsearch
