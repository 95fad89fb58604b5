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
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/error.hpp"

namespace dfsearch {
namespace {

/// The factor of a unit: 10^decimal * 2^binary * factor.
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
constexpr std::array kSmallPrefixes = {Prefix{"", {}},
                                       Prefix{"m", {.decimal = -3}},
                                       Prefix{"u", {.decimal = -6}},
                                       Prefix{"n", {.decimal = -9}},
                                       Prefix{"p", {.decimal = -12}},
                                       Prefix{"f", {.decimal = -15}},
                                       Prefix{"a", {.decimal = -18}}};

/// The prefixes that a unit may have in front; Binary includes the large decimal prefixes.
enum class Prefixes { None, Large, Binary, Small, SmallAndLarge };

std::optional<Scale> scale_of(Prefixes allowed, std::string_view name) {
  const auto in = [&](const auto& prefixes) -> std::optional<Scale> {
    for (const Prefix& prefix : prefixes) {
      if (prefix.name == name) return prefix.scale;
    }
    return std::nullopt;
  };
  std::optional<Scale> found;
  if (name.empty()) return Scale{};
  if (allowed == Prefixes::Small || allowed == Prefixes::SmallAndLarge) found = in(kSmallPrefixes);
  if (allowed == Prefixes::Binary) found = in(kBinaryPrefixes);
  if (!found && allowed != Prefixes::None && allowed != Prefixes::Small)
    found = in(kDecimalPrefixes);
  return found;
}

/// A unit with the prefixes that it may have in front.
struct Unit {
  std::string_view name;
  Prefixes prefixes = Prefixes::None;
  Scale scale{};
};

/// The prefixes that a magnitude may be shown with.
enum class Shown { Plain, Large, Time, Small };

/// How a quantity is read and shown.
struct UnitRow {
  detail::Exponents exponents;
  std::string_view shown;  ///< the unit
  Shown prefixes = Shown::Plain;
  std::string_view example{};  ///< empty if configs have no such quantity
  std::string_view names{};    ///< names of units, for messages
  std::array<Unit, 6> units{};
  double base = 1.0;  ///< base units in the unit shown
};

template <class Q>
constexpr detail::Exponents kOf = detail::exponents_of(Q{});

// A bit takes an eighth of a byte, and a rate for each bit is eight times the rate for each byte.
constexpr Scale kBit{.binary = -3}, kPerBit{.binary = 3};
using enum Prefixes;

// clang-format off
constexpr UnitRow kRows[] = {
    {kOf<Seconds>, "s", Shown::Time, "500 ms' or '20 min", "s, ms, us, ns, min, h",
     {{{"s"}, {"ms", None, {-3}}, {"us", None, {-6}}, {"ns", None, {-9}},
       {"min", None, {0, 0, 60.0}}, {"h", None, {0, 0, 3600.0}}}}},
    {kOf<Hertz>, "Hz", Shown::Large, "1.25 GHz", "Hz, kHz, MHz, GHz, THz", {{{"Hz", Large}}}},
    {kOf<Bytes>, "B", Shown::Large, "640 MiB",
     "B, kB, MB, GB, TB, PB, EB, KiB, MiB, GiB, TiB, PiB, EiB, bit",
     {{{"B", Binary}, {"bit", Binary, kBit}, {"b", Binary, kBit}}}},
    {kOf<BytesPerSecond>, "B/s", Shown::Large, "900 GB/s",
     "B/s, kB/s, MB/s, GB/s, TB/s, GiB/s, Gbit/s",
     {{{"B/s", Binary}, {"bit/s", Binary, kBit}, {"b/s", Binary, kBit}}}},
    {kOf<Flops>, "FLOP", Shown::Large, "128 GFLOP", "FLOP, kFLOP, MFLOP, GFLOP, TFLOP, PFLOP",
     {{{"FLOP", Large}}}},
    {kOf<FlopsPerSecond>, "FLOP/s", Shown::Large, "312 TFLOP/s",
     "FLOP/s, kFLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, PFLOP/s", {{{"FLOP/s", Large}}}},
    {kOf<Area>, "mm2", Shown::Plain, "815 mm2", "mm2, um2, cm2",
     {{{"mm2"}, {"um2", None, {-6}}, {"cm2", None, {2}}}}},
    {kOf<Length>, "mm", Shown::Plain, "40 mm", "mm, um, cm",
     {{{"mm"}, {"um", None, {-3}}, {"cm", None, {1}}}}},
    {kOf<PerLength>, "/mm", Shown::Plain, "400 /mm", "/mm", {{{"/mm"}}}},
    {kOf<Watts>, "W", Shown::Large, "300 W", "W, kW, MW, mW, uW, nW", {{{"W", SmallAndLarge}}}},
    {kOf<Volts>, "V", Shown::Plain, "0.8 V", "V, mV", {{{"V"}, {"mV", None, {-3}}}}},
    {kOf<AreaPerByte>, "um2/bit", Shown::Plain, "0.08 um2/bit", "um2/bit, mm2/bit, cm2/bit",
     {{{"mm2/bit", None, kPerBit}, {"um2/bit", None, {-6, 3}}, {"cm2/bit", None, {2, 3}}}}, 0.125e6},
    {kOf<JoulesPerByte>, "J/bit", Shown::Small, "4.2 pJ/bit",
     "J/bit, mJ/bit, uJ/bit, nJ/bit, pJ/bit, fJ/bit", {{{"J/bit", Small, kPerBit}}}, 0.125},
    {kOf<JoulesPerFlop>, "J/FLOP", Shown::Small, "0.6 pJ/FLOP",
     "J/FLOP, mJ/FLOP, uJ/FLOP, nJ/FLOP, pJ/FLOP, fJ/FLOP", {{{"J/FLOP", Small}}}},
    {kOf<WattsPerByte>, "W/bit", Shown::Small, "9 pW/bit",
     "W/bit, mW/bit, uW/bit, nW/bit, pW/bit, fW/bit", {{{"W/bit", Small, kPerBit}}}, 0.125},
    {kOf<Dollars>, "$", Shown::Large},
    {kOf<DollarSeconds>, "$ s", Shown::Large},
    {kOf<Joules>, "J", Shown::Large},
    {kOf<JouleSeconds>, "J s", Shown::Large},
    {kOf<FlopsPerSecondPerDollar>, "FLOP/s/$", Shown::Large},
    {kOf<FlopsPerSecondPerWatt>, "FLOP/s/W", Shown::Large},
    {kOf<FlopsPerByte>, "FLOP/B"},
};
// clang-format on

const UnitRow& row_of(const detail::Exponents& exponents) {
  for (const UnitRow& row : kRows) {
    if (row.exponents == exponents) return row;
  }
  throw InternalError("a quantity without a unit");
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

/// Nothing if it is too large or too small for a double.
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

/// The part of a text that a message shows: enough to recognise it.
std::string shortened(std::string_view text) {
  constexpr std::size_t kLength = 60;
  return text.size() <= kLength ? std::string(text) : std::string(text.substr(0, kLength)) + "...";
}

std::optional<Scale> find_unit(const UnitRow& row, std::string_view text) {
  for (const Unit& unit : row.units) {
    if (unit.name.empty() || !text.ends_with(unit.name)) continue;
    std::optional<Scale> scale =
        scale_of(unit.prefixes, text.substr(0, text.size() - unit.name.size()));
    if (!scale) continue;
    scale->decimal += unit.scale.decimal;
    scale->binary += unit.scale.binary;
    scale->factor *= unit.scale.factor;
    return scale;
  }
  return std::nullopt;
}

std::string with_four_digits(double value) {
  // Plain digits up to a size that people can read, an exponent beyond.
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
    const std::size_t names = prefixes == Shown::Time ? 4 : kSmallPrefixes.size();
    double factor = 1.0;
    std::size_t i = 0;
    for (; i + 1 < names && size * factor < kNext; ++i) factor *= 1e3;
    return fmt::format("{} {}{}", with_four_digits(value * factor), kSmallPrefixes[i].name, unit);
  }
  double divisor = 1.0;
  std::size_t i = 0;
  for (; i + 1 < kDecimalPrefixes.size() && size / divisor >= 1e3 * kNext; ++i) divisor *= 1e3;
  return fmt::format("{} {}{}", with_four_digits(value / divisor), kDecimalPrefixes[i].name, unit);
}

}  // namespace

double detail::parse_base_units(std::string_view text, const Exponents& exponents) {
  const UnitRow& row = row_of(exponents);
  const std::string expected =
      fmt::format("expected a quantity like '{}', got '{}'", row.example, shortened(text));
  std::string_view rest = trimmed(text);
  if (rest.starts_with('-')) throw InputError(expected + ", which is negative");
  const std::optional<Decimal> decimal = take_decimal(rest);
  if (!decimal) throw InputError(expected);
  const std::string_view unit = trimmed(rest);
  if (unit.empty()) throw InputError(expected);
  const std::optional<Scale> scale = find_unit(row, unit);
  if (!scale) {
    throw InputError(
        fmt::format("{}: the unit '{}' is not one of {}", expected, shortened(unit), row.names));
  }
  const std::optional<double> value = to_double(*decimal, *scale);
  if (!value) throw InputError(expected + ", which is out of range");
  return *value;
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

std::string detail::shown_base_units(double value, const Exponents& exponents) {
  const UnitRow& row = row_of(exponents);
  return shown(value * row.base, row.shown, row.prefixes);
}

std::string_view detail::base_unit(const Exponents& exponents) { return row_of(exponents).shown; }

std::string to_small_text(Watts value) { return shown(value.in_base_units(), "W", Shown::Small); }

std::string to_exact_text(double value) {
  // Positional up to 20 digits, enough for any size in a config.
  const double size = std::abs(value);
  const bool positional = size == 0.0 || (size >= 1e-9 && size < 1e20);
  std::array<char, 64> buffer{};
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                    positional ? std::chars_format::fixed : std::chars_format::scientific);
  if (error != std::errc()) throw InternalError("a number has too many digits");
  return {buffer.data(), end};
}

}  // namespace dfsearch
