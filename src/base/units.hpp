#pragma once
// Physical quantities as types.
//
// A Quantity is one double in SI base units (seconds, bytes, FLOP, dollars,
// watts) whose dimension is part of its type: a sum of seconds and bytes does
// not compile, bytes divided by bytes per second are seconds.  A quotient of
// like quantities is a plain double.  Times inside a search are counted in
// whole Ticks instead (model/clock.hpp).

#include <limits>
#include <type_traits>

namespace dfsearch {

template <int SecondExp, int ByteExp, int FlopExp, int DollarExp, int WattExp>
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
template <int S, int B, int F, int D, int W>
struct QuantityOrNumber {
  using type = Quantity<S, B, F, D, W>;
};
template <>
struct QuantityOrNumber<0, 0, 0, 0, 0> {
  using type = double;
};
template <int S, int B, int F, int D, int W>
using quantity_or_number = typename QuantityOrNumber<S, B, F, D, W>::type;
}  // namespace detail

template <int S, int B, int F, int D, int W>
constexpr auto operator/(double k, Quantity<S, B, F, D, W> a) {
  return Quantity<-S, -B, -F, -D, -W>(k / a.in_base_units());
}

template <int S1, int B1, int F1, int D1, int W1, int S2, int B2, int F2, int D2, int W2>
constexpr auto operator*(Quantity<S1, B1, F1, D1, W1> a, Quantity<S2, B2, F2, D2, W2> b) {
  return detail::quantity_or_number<S1 + S2, B1 + B2, F1 + F2, D1 + D2, W1 + W2>(a.in_base_units() *
                                                                                 b.in_base_units());
}

template <int S1, int B1, int F1, int D1, int W1, int S2, int B2, int F2, int D2, int W2>
constexpr auto operator/(Quantity<S1, B1, F1, D1, W1> a, Quantity<S2, B2, F2, D2, W2> b) {
  return detail::quantity_or_number<S1 - S2, B1 - B2, F1 - F2, D1 - D2, W1 - W2>(a.in_base_units() /
                                                                                 b.in_base_units());
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
/// Price and energy of a step: what the objectives other than its time minimise.
using DollarSeconds = Quantity<1, 0, 0, 1, 0>;
using Joules = Quantity<1, 0, 0, 0, 1>;
/// What a search minimises, in the unit of its objective (model/problem.hpp).
using Score = Quantity<0, 0, 0, 0, 0>;
using FlopsPerByte = Quantity<0, -1, 1, 0, 0>;

}  // namespace dfsearch
