#pragma once
// Quantities as text: "900 GB/s" <-> BytesPerSecond.  The only place with prefixes of units.
//
// 1 kB is 1000 B and 1 KiB is 1024 B; `b` and `bit` are an eighth of a byte.
// Units are case-sensitive, the space before them may be left out, and a number
// without a unit is refused.

#include <array>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace dfsearch {

namespace detail {
/// The exponents of the base units, which find the row of a quantity in units_text.cpp.  A quantity
/// without a row is an InternalError.
using Exponents = std::array<int, 7>;
template <int... exponents>
constexpr Exponents exponents_of(Quantity<exponents...>) {
  return {exponents...};
}
double parse_base_units(std::string_view text, const Exponents& exponents);
std::string shown_base_units(double value, const Exponents& exponents);
std::string_view base_unit(const Exponents& exponents);
}  // namespace detail

/// The value nearest to the text: decimal prefixes are applied to the
/// decimal digits, before any rounding.  Throws InputError, without a place, for
/// anything but one finite non-negative number and one unit of the quantity:
///   Seconds         s ms us ns min h
///   Hertz           Hz with k M G T P E
///   Bytes           B, b, bit with k M G T P E or Ki Mi Gi Ti Pi Ei
///   BytesPerSecond  units of Bytes with /s
///   Flops           FLOP with k M G T P E
///   FlopsPerSecond  units of Flops with /s
///   Area            mm2 um2 cm2
///   Length          mm um cm
///   PerLength       /mm
///   Watts           W with k M G T m u n p f
///   Volts           V mV
///   AreaPerByte     um2/bit mm2/bit
///   JoulesPerByte   J/bit with m u n p f a
///   JoulesPerFlop   J/FLOP with m u n p f a
///   WattsPerByte    W/bit with m u n p f a
template <class Q>
Q parse_quantity(std::string_view text) {
  return Q(detail::parse_base_units(text, detail::exponents_of(Q{})));
}

/// Reads a finite plain number, sign and exponent allowed; throws InputError.
double parse_number(std::string_view text);

/// Writes a quantity for people: four significant digits and the prefix that leaves
/// one to three of them before the point, "3.67 ms", "671.1 MB", "50 GB/s".
template <int... exponents>
std::string to_text(Quantity<exponents...> value) {
  return detail::shown_base_units(value.in_base_units(), detail::exponents_of(value));
}
/// The text of a number in base units, for tables with quantities of several kinds.
template <class Q>
std::string quantity_text(double value) {
  return to_text(Q(value));
}
/// Powers of parts of a chip, down to "1.502 mW".
std::string to_small_text(Watts value);

/// Writes a quantity for configs: the shortest decimal in base units that parses
/// back to the same double, "1099511600000 B".
std::string to_exact_text(double value);
template <int... exponents>
std::string to_exact_text(Quantity<exponents...> value) {
  return to_exact_text(value.in_base_units()) + " " +
         std::string(detail::base_unit(detail::exponents_of(value)));
}

}  // namespace dfsearch
