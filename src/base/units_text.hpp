#pragma once
// Quantities as text: "900 GB/s" <-> BytesPerSecond.  The only place that knows
// prefixes.
//
// 1 kB is 1000 B and 1 KiB is 1024 B; `b` and `bit` are an eighth of a byte.
// Units are case-sensitive, the space before them may be left out, and a number
// without a unit is refused.

#include <string>
#include <string_view>

#include "base/units.hpp"

namespace dfsearch {

/// The value nearest to what the text says: decimal prefixes are applied to the
/// decimal digits, before any rounding.  Throws InputError, without a place, for
/// anything but one finite non-negative number and one unit of the quantity:
///   Seconds         s ms us ns min h
///   Hertz           Hz with k M G T P E
///   Bytes           B, b, bit with k M G T P E or Ki Mi Gi Ti Pi Ei
///   BytesPerSecond  the same with /s
///   Flops           FLOP with k M G T P E
///   FlopsPerSecond  the same with /s
///   Area            mm2 um2 cm2
///   Length          mm um cm
///   PerLength       /mm
///   Watts           W with k M G T m u n p f
///   Volts           V mV
///   AreaPerByte     um2/bit mm2/bit
///   JoulesPerByte   J/bit with m u n p f a
///   WattsPerByte    W/bit with m u n p f a
template <class Q>
Q parse_quantity(std::string_view text) = delete;
template <>
Seconds parse_quantity<Seconds>(std::string_view text);
template <>
Hertz parse_quantity<Hertz>(std::string_view text);
template <>
Bytes parse_quantity<Bytes>(std::string_view text);
template <>
BytesPerSecond parse_quantity<BytesPerSecond>(std::string_view text);
template <>
Flops parse_quantity<Flops>(std::string_view text);
template <>
FlopsPerSecond parse_quantity<FlopsPerSecond>(std::string_view text);
template <>
Area parse_quantity<Area>(std::string_view text);
template <>
Length parse_quantity<Length>(std::string_view text);
template <>
PerLength parse_quantity<PerLength>(std::string_view text);
template <>
Watts parse_quantity<Watts>(std::string_view text);
template <>
Volts parse_quantity<Volts>(std::string_view text);
template <>
AreaPerByte parse_quantity<AreaPerByte>(std::string_view text);
template <>
JoulesPerByte parse_quantity<JoulesPerByte>(std::string_view text);
template <>
WattsPerByte parse_quantity<WattsPerByte>(std::string_view text);

/// Reads a finite plain number, sign and exponent allowed; throws InputError.
double parse_number(std::string_view text);

/// Writes a quantity for people: four significant digits and the prefix that leaves
/// one to three of them before the point, "3.67 ms", "671.1 MB", "50 GB/s".
std::string to_text(Seconds value);
std::string to_text(Hertz value);
std::string to_text(Bytes value);
std::string to_text(BytesPerSecond value);
std::string to_text(Flops value);
std::string to_text(FlopsPerSecond value);
std::string to_text(Dollars value);
std::string to_text(Watts value);
std::string to_text(DollarSeconds value);
std::string to_text(Joules value);
std::string to_text(FlopsPerSecondPerDollar value);
std::string to_text(FlopsPerSecondPerWatt value);
std::string to_text(FlopsPerByte value);
std::string to_text(Area value);
std::string to_text(Length value);
std::string to_text(PerLength value);
std::string to_text(Volts value);
std::string to_text(AreaPerByte value);
std::string to_text(JoulesPerByte value);
std::string to_text(WattsPerByte value);
/// Powers of parts of a chip, down to "1.502 mW".
std::string to_small_text(Watts value);

/// Writes a quantity for configs: the shortest decimal in base units that parses
/// back to the same double, "1099511600000 B".
std::string to_exact_text(Seconds value);
std::string to_exact_text(Hertz value);
std::string to_exact_text(Bytes value);
std::string to_exact_text(BytesPerSecond value);
std::string to_exact_text(double value);

}  // namespace dfsearch
