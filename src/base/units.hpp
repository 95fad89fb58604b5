#pragma once
// Physical quantities as types.
//
// A Quantity is one double in base units (seconds, bytes, FLOP, dollars, watts,
// millimetres, volts) whose dimension is part of its type: a sum of seconds and
// bytes does not compile, bytes divided by bytes per second are seconds.  A
// quotient of like quantities is a plain double.  Times inside a search are
// counted in whole Ticks instead (model/clock.hpp).
//
// Lengths are counted in mm, as is usual for chips: an area of "815 mm2" is then exactly the number
// that was written.

#include <limits>
#include <type_traits>

namespace dfsearch {

template <int SecondExp, int ByteExp, int FlopExp, int DollarExp, int WattExp,
          int MillimetreExp = 0, int VoltExp = 0>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double base_units) : value_(base_units) {}

  static constexpr Quantity infinity() { return Quantity(std::numeric_limits<double>::infinity()); }

  /// The bare number; for text, tests and the conversion to ticks only.
  [[nodiscard]] constexpr double in_base_units() const { return value_; }

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }

  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value_ - b.value_);
  }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(k * a.value_); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value_ / k); }

  // Explicit comparisons: with a defaulted <=> GCC 12 compiles std::max into a
  // branch (it goes through partial_ordering); with these it is one maxsd.
  friend constexpr bool operator==(Quantity a, Quantity b) { return a.value_ == b.value_; }
  friend constexpr bool operator<(Quantity a, Quantity b) { return a.value_ < b.value_; }
  friend constexpr bool operator>(Quantity a, Quantity b) { return a.value_ > b.value_; }
  friend constexpr bool operator<=(Quantity a, Quantity b) { return a.value_ <= b.value_; }
  friend constexpr bool operator>=(Quantity a, Quantity b) { return a.value_ >= b.value_; }

 private:
  double value_ = 0.0;
};

namespace detail {
template <int... Exponents>
struct QuantityOrNumber {
  using type = std::conditional_t<((Exponents == 0) && ...), double, Quantity<Exponents...>>;
};
template <int... Exponents>
using quantity_or_number = typename QuantityOrNumber<Exponents...>::type;
}  // namespace detail

template <int... A>
constexpr auto operator/(double k, Quantity<A...> a) {
  return Quantity<-A...>(k / a.in_base_units());
}

template <int... A, int... B>
constexpr auto operator*(Quantity<A...> a, Quantity<B...> b) {
  return detail::quantity_or_number<(A + B)...>(a.in_base_units() * b.in_base_units());
}

template <int... A, int... B>
constexpr auto operator/(Quantity<A...> a, Quantity<B...> b) {
  return detail::quantity_or_number<(A - B)...>(a.in_base_units() / b.in_base_units());
}

using Seconds = Quantity<1, 0, 0, 0, 0>;
using Hertz = Quantity<-1, 0, 0, 0, 0>;
using Bytes = Quantity<0, 1, 0, 0, 0>;
using BytesPerSecond = Quantity<-1, 1, 0, 0, 0>;
using Flops = Quantity<0, 0, 1, 0, 0>;  ///< an amount of work (FLOP), not a rate
using FlopsPerSecond = Quantity<-1, 0, 1, 0, 0>;
using Dollars = Quantity<0, 0, 0, 1, 0>;
using Watts = Quantity<0, 0, 0, 0, 1>;
/// Price and power of memory, links and switches are given per bandwidth.
using DollarsPerBandwidth = Quantity<1, -1, 0, 1, 0>;
using WattsPerBandwidth = Quantity<1, -1, 0, 0, 1>;
using FlopsPerSecondPerDollar = Quantity<-1, 0, 1, -1, 0>;
using FlopsPerSecondPerWatt = Quantity<-1, 0, 1, 0, -1>;
/// Price and energy of a step, which objectives beside its time minimise.
using DollarSeconds = Quantity<1, 0, 0, 1, 0>;
using Joules = Quantity<1, 0, 0, 0, 1>;
using JouleSeconds = Quantity<2, 0, 0, 0, 1>;  ///< product of energy and delay
/// The unit of objectives, which a search minimises (model/problem.hpp).
using Score = Quantity<0, 0, 0, 0, 0>;
using FlopsPerByte = Quantity<0, -1, 1, 0, 0>;
/// Units of the parts of chips.
using Area = Quantity<0, 0, 0, 0, 0, 2>;    ///< mm2
using Length = Quantity<0, 0, 0, 0, 0, 1>;  ///< mm
using PerLength = Quantity<0, 0, 0, 0, 0, -1>;
using Volts = Quantity<0, 0, 0, 0, 0, 0, 1>;
using AreaPerByte = Quantity<0, -1, 0, 0, 0, 2>;
using WattsPerByte = Quantity<0, -1, 0, 0, 1>;  ///< leakage
using JoulesPerByte = Quantity<1, -1, 0, 0, 1>;
using JoulesPerFlop = Quantity<1, 0, -1, 0, 1>;

}  // namespace dfsearch
