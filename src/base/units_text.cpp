// Text <-> quantities.
//
// "0.3 GB" must be the double nearest to 3e8, not 0.3 rounded and then scaled
// with a second rounding: two spellings of one value would differ in the last
// bit, and so would results.  A decimal prefix is therefore added to the decimal
// exponent of the digits ("0.3" -> "0.3e9") before they are converted; binary
// prefixes and bits are powers of two, which scale exactly.

#include "base/units_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/error.hpp"

namespace dfsearch {
namespace {

/// What a unit multiplies its number by: 10^decimal * 2^binary * factor.
struct Scale {
  int decimal = 0;
  int binary = 0;
  double factor = 1.0;
};

struct Prefix {
  std::string_view name;
  Scale scale;
};

constexpr std::array kDecimalPrefixes = {Prefix{"", {}},
                                         Prefix{"k", {.decimal = 3}},
                                         Prefix{"M", {.decimal = 6}},
                                         Prefix{"G", {.decimal = 9}},
                                         Prefix{"T", {.decimal = 12}},
                                         Prefix{"P", {.decimal = 15}},
                                         Prefix{"E", {.decimal = 18}}};

constexpr std::array kBinaryPrefixes = {Prefix{"Ki", {.binary = 10}}, Prefix{"Mi", {.binary = 20}},
                                        Prefix{"Gi", {.binary = 30}}, Prefix{"Ti", {.binary = 40}},
                                        Prefix{"Pi", {.binary = 50}}, Prefix{"Ei", {.binary = 60}}};

std::optional<Scale> decimal_prefix(std::string_view name) {
  for (const Prefix& prefix : kDecimalPrefixes) {
    if (prefix.name == name) return prefix.scale;
  }
  return std::nullopt;
}

std::optional<Scale> any_prefix(std::string_view name) {
  for (const Prefix& prefix : kBinaryPrefixes) {
    if (prefix.name == name) return prefix.scale;
  }
  return decimal_prefix(name);
}

std::optional<Scale> time_unit(std::string_view unit) {
  if (unit == "s") return Scale{};
  if (unit == "ms") return Scale{.decimal = -3};
  if (unit == "us") return Scale{.decimal = -6};
  if (unit == "ns") return Scale{.decimal = -9};
  if (unit == "min") return Scale{.factor = 60.0};
  if (unit == "h") return Scale{.factor = 3600.0};
  return std::nullopt;
}

std::optional<Scale> frequency_unit(std::string_view unit) {
  if (!unit.ends_with("Hz")) return std::nullopt;
  return decimal_prefix(unit.substr(0, unit.size() - 2));
}

std::optional<Scale> bytes_unit(std::string_view unit) {
  if (unit.ends_with("B")) return any_prefix(unit.substr(0, unit.size() - 1));
  std::size_t suffix = 0;
  if (unit.ends_with("bit")) {
    suffix = 3;
  } else if (unit.ends_with("b")) {
    suffix = 1;
  } else {
    return std::nullopt;
  }
  std::optional<Scale> scale = any_prefix(unit.substr(0, unit.size() - suffix));
  if (scale) scale->binary -= 3;
  return scale;
}

std::optional<Scale> bandwidth_unit(std::string_view unit) {
  if (!unit.ends_with("/s")) return std::nullopt;
  return bytes_unit(unit.substr(0, unit.size() - 2));
}

std::optional<Scale> flops_unit(std::string_view unit) {
  if (!unit.ends_with("FLOP")) return std::nullopt;
  return decimal_prefix(unit.substr(0, unit.size() - 4));
}

std::optional<Scale> flops_rate_unit(std::string_view unit) {
  if (!unit.ends_with("/s")) return std::nullopt;
  return flops_unit(unit.substr(0, unit.size() - 2));
}

/// Fractions of a unit, to its front.
std::optional<Scale> small_prefix(std::string_view name) {
  static constexpr std::array kSmallPrefixes = {
      Prefix{"m", {.decimal = -3}},  Prefix{"u", {.decimal = -6}},  Prefix{"n", {.decimal = -9}},
      Prefix{"p", {.decimal = -12}}, Prefix{"f", {.decimal = -15}}, Prefix{"a", {.decimal = -18}}};
  if (name.empty()) return Scale{};
  for (const Prefix& prefix : kSmallPrefixes) {
    if (prefix.name == name) return prefix.scale;
  }
  return std::nullopt;
}

std::optional<Scale> area_unit(std::string_view unit) {
  if (unit == "mm2") return Scale{};
  if (unit == "um2") return Scale{.decimal = -6};
  if (unit == "cm2") return Scale{.decimal = 2};
  return std::nullopt;
}

std::optional<Scale> length_unit(std::string_view unit) {
  if (unit == "mm") return Scale{};
  if (unit == "um") return Scale{.decimal = -3};
  if (unit == "cm") return Scale{.decimal = 1};
  return std::nullopt;
}

std::optional<Scale> per_length_unit(std::string_view unit) {
  return unit == "/mm" ? std::optional<Scale>(Scale{}) : std::nullopt;
}

std::optional<Scale> power_unit(std::string_view unit) {
  if (!unit.ends_with("W")) return std::nullopt;
  const std::string_view prefix = unit.substr(0, unit.size() - 1);
  const std::optional<Scale> small = small_prefix(prefix);
  return small ? small : decimal_prefix(prefix);
}

std::optional<Scale> voltage_unit(std::string_view unit) {
  if (unit == "V") return Scale{};
  if (unit == "mV") return Scale{.decimal = -3};
  return std::nullopt;
}

/// What a bit takes, as what a byte takes: eight times as much, which is exact.
std::optional<Scale> of_a_byte(std::optional<Scale> scale_of_bit) {
  if (scale_of_bit) scale_of_bit->binary += 3;
  return scale_of_bit;
}

std::optional<Scale> cell_area_unit(std::string_view unit) {
  if (!unit.ends_with("/bit")) return std::nullopt;
  return of_a_byte(area_unit(unit.substr(0, unit.size() - 4)));
}

std::optional<Scale> energy_unit(std::string_view unit) {
  if (!unit.ends_with("J/bit")) return std::nullopt;
  return of_a_byte(small_prefix(unit.substr(0, unit.size() - 5)));
}

std::optional<Scale> leakage_unit(std::string_view unit) {
  if (!unit.ends_with("W/bit")) return std::nullopt;
  return of_a_byte(small_prefix(unit.substr(0, unit.size() - 5)));
}

/// A decimal number, still as text.
struct Decimal {
  std::string_view digits;  ///< "12.5"
  std::int64_t exponent = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes a non-negative decimal number off the front of `text`; nothing if there
/// is none.  The `E` of "5 EB" or "5EB" is a prefix: an exponent needs a digit.
std::optional<Decimal> take_decimal(std::string_view& text) {
  std::size_t end = 0;
  std::size_t digit_count = 0;
  bool point = false;
  for (; end < text.size(); ++end) {
    if (is_digit(text[end])) {
      ++digit_count;
    } else if (text[end] == '.' && !point) {
      point = true;
    } else {
      break;
    }
  }
  if (digit_count == 0) return std::nullopt;
  Decimal decimal{.digits = text.substr(0, end)};
  text.remove_prefix(end);
  if (text.empty() || (text[0] != 'e' && text[0] != 'E')) return decimal;
  const bool plus = text.size() > 1 && text[1] == '+';
  const bool minus = text.size() > 1 && text[1] == '-';
  const std::size_t first = plus || minus ? 2 : 1;
  if (first >= text.size() || !is_digit(text[first])) return decimal;
  const char* begin = text.data() + first - (minus ? 1 : 0);
  const auto [rest, error] = std::from_chars(begin, text.data() + text.size(), decimal.exponent);
  constexpr std::int64_t kBeyondAnyDouble = 1'000'000;
  if (error != std::errc()) decimal.exponent = minus ? -kBeyondAnyDouble : kBeyondAnyDouble;
  decimal.exponent = std::clamp(decimal.exponent, -kBeyondAnyDouble, kBeyondAnyDouble);
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return decimal;
}

/// Nothing when it is too large or too small for a double.
std::optional<double> to_double(const Decimal& decimal, const Scale& scale) {
  const std::string spelled = fmt::format(
      "{}e{}", decimal.digits, decimal.exponent + static_cast<std::int64_t>(scale.decimal));
  double value = 0.0;
  const auto [rest, error] =
      std::from_chars(spelled.data(), spelled.data() + spelled.size(), value);
  if (error != std::errc()) return std::nullopt;
  value = std::ldexp(value, scale.binary) * scale.factor;
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

using FindUnit = std::optional<Scale> (*)(std::string_view);

/// The part of a text that a message shows: enough to recognise it.
std::string shortened(std::string_view text) {
  constexpr std::size_t kLength = 60;
  return text.size() <= kLength ? std::string(text) : std::string(text.substr(0, kLength)) + "...";
}

double parse(std::string_view text, FindUnit find_unit, std::string_view example,
             std::string_view units) {
  const std::string expected =
      fmt::format("expected a quantity like '{}', got '{}'", example, shortened(text));
  std::string_view rest = trimmed(text);
  if (rest.starts_with('-')) throw InputError(expected + ", which is negative");
  const std::optional<Decimal> decimal = take_decimal(rest);
  if (!decimal) throw InputError(expected);
  const std::string_view unit = trimmed(rest);
  if (unit.empty()) throw InputError(expected);
  const std::optional<Scale> scale = find_unit(unit);
  if (!scale) {
    throw InputError(
        fmt::format("{}: the unit '{}' is not one of {}", expected, shortened(unit), units));
  }
  const std::optional<double> value = to_double(*decimal, *scale);
  if (!value) throw InputError(expected + ", which is out of range");
  return *value;
}

// The prefixes a magnitude may be shown with.
enum class Shown { Plain, Large, Time, Small };

std::string with_four_digits(double value) {
  // Plain digits as long as a person can count them, an exponent beyond.
  const double size = std::abs(value);
  return size >= 9999.5 && size < 1e9 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string shown(double value, std::string_view unit, Shown prefixes) {
  if (!std::isfinite(value) || value == 0.0 || prefixes == Shown::Plain) {
    return fmt::format("{} {}", with_four_digits(value), unit);
  }
  // 999.95 and more would show as 1000, so the next prefix starts there.
  constexpr double kNext = 0.99995;
  const double size = std::abs(value);
  if (prefixes == Shown::Time || prefixes == Shown::Small) {
    static constexpr std::array<std::string_view, 7> kNames = {"", "m", "u", "n", "p", "f", "a"};
    const std::size_t names = prefixes == Shown::Time ? 4 : kNames.size();
    double factor = 1.0;
    std::size_t i = 0;
    for (; i + 1 < names && size * factor < kNext; ++i) factor *= 1e3;
    return fmt::format("{} {}{}", with_four_digits(value * factor), kNames[i], unit);
  }
  double divisor = 1.0;
  std::size_t i = 0;
  for (; i + 1 < kDecimalPrefixes.size() && size / divisor >= 1e3 * kNext; ++i) divisor *= 1e3;
  return fmt::format("{} {}{}", with_four_digits(value / divisor), kDecimalPrefixes[i].name, unit);
}

}  // namespace

template <>
Seconds parse_quantity<Seconds>(std::string_view text) {
  return Seconds(parse(text, time_unit, "500 ms' or '20 min", "s, ms, us, ns, min, h"));
}

template <>
Hertz parse_quantity<Hertz>(std::string_view text) {
  return Hertz(parse(text, frequency_unit, "1.25 GHz", "Hz, kHz, MHz, GHz, THz"));
}

template <>
Bytes parse_quantity<Bytes>(std::string_view text) {
  return Bytes(parse(text, bytes_unit, "640 MiB",
                     "B, kB, MB, GB, TB, PB, EB, KiB, MiB, GiB, TiB, PiB, EiB, bit"));
}

template <>
BytesPerSecond parse_quantity<BytesPerSecond>(std::string_view text) {
  return BytesPerSecond(
      parse(text, bandwidth_unit, "900 GB/s", "B/s, kB/s, MB/s, GB/s, TB/s, GiB/s, Gbit/s"));
}

template <>
Flops parse_quantity<Flops>(std::string_view text) {
  return Flops(parse(text, flops_unit, "128 GFLOP", "FLOP, kFLOP, MFLOP, GFLOP, TFLOP, PFLOP"));
}

template <>
FlopsPerSecond parse_quantity<FlopsPerSecond>(std::string_view text) {
  return FlopsPerSecond(parse(text, flops_rate_unit, "312 TFLOP/s",
                              "FLOP/s, kFLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, PFLOP/s"));
}

template <>
Area parse_quantity<Area>(std::string_view text) {
  return Area(parse(text, area_unit, "815 mm2", "mm2, um2, cm2"));
}

template <>
Length parse_quantity<Length>(std::string_view text) {
  return Length(parse(text, length_unit, "40 mm", "mm, um, cm"));
}

template <>
PerLength parse_quantity<PerLength>(std::string_view text) {
  return PerLength(parse(text, per_length_unit, "400 /mm", "/mm"));
}

template <>
Watts parse_quantity<Watts>(std::string_view text) {
  return Watts(parse(text, power_unit, "300 W", "W, kW, MW, mW, uW, nW"));
}

template <>
Volts parse_quantity<Volts>(std::string_view text) {
  return Volts(parse(text, voltage_unit, "0.8 V", "V, mV"));
}

template <>
AreaPerByte parse_quantity<AreaPerByte>(std::string_view text) {
  return AreaPerByte(parse(text, cell_area_unit, "0.08 um2/bit", "um2/bit, mm2/bit, cm2/bit"));
}

template <>
JoulesPerByte parse_quantity<JoulesPerByte>(std::string_view text) {
  return JoulesPerByte(
      parse(text, energy_unit, "4.2 pJ/bit", "J/bit, mJ/bit, uJ/bit, nJ/bit, pJ/bit, fJ/bit"));
}

template <>
WattsPerByte parse_quantity<WattsPerByte>(std::string_view text) {
  return WattsPerByte(
      parse(text, leakage_unit, "9 pW/bit", "W/bit, mW/bit, uW/bit, nW/bit, pW/bit, fW/bit"));
}

double parse_number(std::string_view text) {
  std::string_view rest = trimmed(text);
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  const std::optional<Decimal> decimal = take_decimal(rest);
  if (!decimal || !rest.empty()) {
    throw InputError(fmt::format("expected a number, got '{}'", shortened(text)));
  }
  const std::optional<double> value = to_double(*decimal, Scale{});
  if (!value) {
    throw InputError(
        fmt::format("expected a number, got '{}', which is out of range", shortened(text)));
  }
  return negative ? -*value : *value;
}

std::string to_text(Seconds value) { return shown(value.in_base_units(), "s", Shown::Time); }
std::string to_text(Hertz value) { return shown(value.in_base_units(), "Hz", Shown::Large); }
std::string to_text(Bytes value) { return shown(value.in_base_units(), "B", Shown::Large); }
std::string to_text(BytesPerSecond value) {
  return shown(value.in_base_units(), "B/s", Shown::Large);
}
std::string to_text(Flops value) { return shown(value.in_base_units(), "FLOP", Shown::Large); }
std::string to_text(FlopsPerSecond value) {
  return shown(value.in_base_units(), "FLOP/s", Shown::Large);
}
std::string to_text(Dollars value) { return shown(value.in_base_units(), "$", Shown::Large); }
std::string to_text(Watts value) { return shown(value.in_base_units(), "W", Shown::Large); }
std::string to_text(DollarSeconds value) {
  return shown(value.in_base_units(), "$ s", Shown::Large);
}
std::string to_text(Joules value) { return shown(value.in_base_units(), "J", Shown::Large); }
std::string to_text(FlopsPerSecondPerDollar value) {
  return shown(value.in_base_units(), "FLOP/s/$", Shown::Large);
}
std::string to_text(FlopsPerSecondPerWatt value) {
  return shown(value.in_base_units(), "FLOP/s/W", Shown::Large);
}
std::string to_text(FlopsPerByte value) {
  return shown(value.in_base_units(), "FLOP/B", Shown::Plain);
}

std::string to_text(Area value) { return shown(value.in_base_units(), "mm2", Shown::Plain); }
std::string to_text(Length value) { return shown(value.in_base_units(), "mm", Shown::Plain); }
std::string to_text(PerLength value) { return shown(value.in_base_units(), "/mm", Shown::Plain); }
std::string to_text(Volts value) { return shown(value.in_base_units(), "V", Shown::Plain); }
std::string to_text(AreaPerByte value) {
  return shown(value.in_base_units() * 0.125e6, "um2/bit", Shown::Plain);
}
std::string to_text(JoulesPerByte value) {
  return shown(value.in_base_units() * 0.125, "J/bit", Shown::Small);
}
std::string to_text(WattsPerByte value) {
  return shown(value.in_base_units() * 0.125, "W/bit", Shown::Small);
}
std::string to_small_text(Watts value) { return shown(value.in_base_units(), "W", Shown::Small); }

std::string to_exact_text(double value) {
  // Positional up to 20 digits, which any size anyone writes has.
  const double size = std::abs(value);
  const bool positional = size == 0.0 || (size >= 1e-9 && size < 1e20);
  std::array<char, 64> buffer{};
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                    positional ? std::chars_format::fixed : std::chars_format::scientific);
  if (error != std::errc()) throw InternalError("a number has too many digits");
  return {buffer.data(), end};
}

std::string to_exact_text(Seconds value) { return to_exact_text(value.in_base_units()) + " s"; }
std::string to_exact_text(Hertz value) { return to_exact_text(value.in_base_units()) + " Hz"; }
std::string to_exact_text(Bytes value) { return to_exact_text(value.in_base_units()) + " B"; }
std::string to_exact_text(BytesPerSecond value) {
  return to_exact_text(value.in_base_units()) + " B/s";
}

}  // namespace dfsearch
