#include "base/units_text.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>

#include "base/error.hpp"

namespace dfsearch {
namespace {

template <class Q>
double parsed(const std::string& text) {
  return parse_quantity<Q>(text).in_base_units();
}

template <class Q>
std::string refusal(const std::string& text) {
  try {
    parse_quantity<Q>(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("work and its rates") {
  CHECK(parse_quantity<Flops>("128 GFLOP") == Flops(128e9));
  CHECK(parse_quantity<Flops>("0 FLOP") == Flops(0.0));
  CHECK(parse_quantity<FlopsPerSecond>("312 TFLOP/s") == FlopsPerSecond(312e12));
  CHECK(parse_quantity<FlopsPerSecond>("0.3 kFLOP/s") == FlopsPerSecond(300.0));
  CHECK_THROWS_AS(parse_quantity<Flops>("1 GFLOP/s"), InputError);
  CHECK_THROWS_AS(parse_quantity<Flops>("1 GFLOPS"), InputError);
  CHECK_THROWS_AS(parse_quantity<FlopsPerSecond>("1 TFLOP"), InputError);
}

TEST_CASE("bytes have decimal and binary prefixes") {
  CHECK(parsed<Bytes>("0 B") == 0.0);
  CHECK(parsed<Bytes>("2 B") == 2.0);
  CHECK(parsed<Bytes>("1 kB") == 1e3);
  CHECK(parsed<Bytes>("1 MB") == 1e6);
  CHECK(parsed<Bytes>("1 GB") == 1e9);
  CHECK(parsed<Bytes>("1 TB") == 1e12);
  CHECK(parsed<Bytes>("1 PB") == 1e15);
  CHECK(parsed<Bytes>("1 EB") == 1e18);
  CHECK(parsed<Bytes>("1 KiB") == 1024.0);
  CHECK(parsed<Bytes>("640 MiB") == 671088640.0);
  CHECK(parsed<Bytes>("80 GiB") == 80.0 * 1073741824.0);
  CHECK(parsed<Bytes>("1 TiB") == std::ldexp(1.0, 40));
  CHECK(parsed<Bytes>("1 PiB") == std::ldexp(1.0, 50));
  CHECK(parsed<Bytes>("1 EiB") == std::ldexp(1.0, 60));
}

TEST_CASE("a bit is an eighth of a byte") {
  CHECK(parsed<Bytes>("8 bit") == 1.0);
  CHECK(parsed<Bytes>("4 b") == 0.5);
  CHECK(parsed<BytesPerSecond>("400 Gb/s") == 50e9);
  CHECK(parsed<BytesPerSecond>("400 Gbit/s") == 50e9);
  CHECK(parsed<BytesPerSecond>("8 Gibit/s") == 1073741824.0);
}

TEST_CASE("bandwidth, frequency and time have their units") {
  CHECK(parsed<BytesPerSecond>("900 GB/s") == 900e9);
  CHECK(parsed<BytesPerSecond>("2 TiB/s") == std::ldexp(1.0, 41));
  CHECK(parsed<Hertz>("1.25 GHz") == 1.25e9);
  CHECK(parsed<Hertz>("5 Hz") == 5.0);
  CHECK(parsed<Seconds>("20 min") == 1200.0);
  CHECK(parsed<Seconds>("1.5 h") == 5400.0);
  CHECK(parsed<Seconds>("3 s") == 3.0);
  CHECK(parsed<Seconds>("250 ms") == 0.25);
  CHECK(parsed<Seconds>("1 us") == 1e-6);
  CHECK(parsed<Seconds>("7 ns") == 7e-9);
}

TEST_CASE("what chips are made of has units") {
  CHECK(parsed<Area>("815 mm2") == 815.0);
  CHECK(parsed<Area>("400 um2") == 400e-6);
  CHECK(parsed<Area>("8.15 cm2") == 815.0);
  CHECK(parsed<Length>("40 mm") == 40.0);
  CHECK(parsed<Length>("40 um") == 0.04);
  CHECK(parsed<Length>("4 cm") == 40.0);
  CHECK(parsed<PerLength>("3.363 /mm") == 3.363);
  CHECK(parsed<Watts>("37.908 mW") == 37.908e-3);
  CHECK(parsed<Watts>("0.3 kW") == 300.0);
  CHECK(parsed<Watts>("3 uW") == 3e-6);
  CHECK(parsed<Volts>("0.8 V") == 0.8);
  CHECK(parsed<Volts>("350 mV") == 0.35);
  // Of a bit as it is written, of a byte as it is kept: eight times as much.
  CHECK(parsed<AreaPerByte>("0.08 um2/bit") == 8.0 * 0.08e-6);
  CHECK(parsed<JoulesPerByte>("4.2 pJ/bit") == 8.0 * 4.2e-12);
  CHECK(parsed<JoulesPerByte>("110 fJ/bit") == 8.0 * 110e-15);
  CHECK(parsed<WattsPerByte>("8.4 pW/bit") == 8.0 * 8.4e-12);
  CHECK(parsed<WattsPerByte>("0.5 nW/bit") == 8.0 * 0.5e-9);
}

TEST_CASE("units of chips that are none, or of something else, are refused") {
  CHECK(refusal<Area>("815 mm") ==
        "expected a quantity like '815 mm2', got '815 mm': the unit 'mm' is not one of mm2, um2, "
        "cm2");
  CHECK(refusal<Area>("815").starts_with("expected a quantity like '815 mm2'"));
  CHECK(refusal<Area>("-1 mm2").ends_with("which is negative"));
  CHECK(refusal<Length>("4 mm2").starts_with("expected a quantity like '40 mm'"));
  CHECK(refusal<PerLength>("400 mm").starts_with("expected a quantity like '400 /mm'"));
  CHECK(refusal<Watts>("300 V").starts_with("expected a quantity like '300 W'"));
  CHECK(refusal<Volts>("1 kV").starts_with("expected a quantity like '0.8 V'"));
  CHECK(refusal<AreaPerByte>("0.08 um2").starts_with("expected a quantity like '0.08 um2/bit'"));
  CHECK(refusal<JoulesPerByte>("4.2 pW/bit").starts_with("expected a quantity like '4.2 pJ/bit'"));
  CHECK(refusal<WattsPerByte>("9 pJ/bit").starts_with("expected a quantity like '9 pW/bit'"));
}

TEST_CASE("units of chips that decimal prefixes scale are rounded once") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000; ++i) {
    const std::string digits = "0." + std::to_string(random() % 1'000'000'000);
    CHECK(parsed<Area>(digits + " um2") == std::stod(digits + "e-6"));
    CHECK(parsed<Watts>(digits + " mW") == std::stod(digits + "e-3"));
    CHECK(parsed<JoulesPerByte>(digits + " fJ/bit") == 8.0 * std::stod(digits + "e-15"));
    CHECK(parsed<WattsPerByte>(digits + " pW/bit") == 8.0 * std::stod(digits + "e-12"));
  }
}

TEST_CASE("quantities of chips are shown with four digits") {
  CHECK(to_text(Area(815.0)) == "815 mm2");
  CHECK(to_text(Length(114.19281938896158)) == "114.2 mm");
  CHECK(to_text(PerLength(400.0)) == "400 /mm");
  CHECK(to_text(Volts(0.8678548366968682)) == "0.8679 V");
  CHECK(to_text(parse_quantity<AreaPerByte>("0.08 um2/bit")) == "0.08 um2/bit");
  CHECK(to_text(parse_quantity<JoulesPerByte>("110 fJ/bit")) == "110 fJ/bit");
  CHECK(to_text(parse_quantity<WattsPerByte>("9 pW/bit")) == "9 pW/bit");
  CHECK(to_small_text(Watts(0.0015123)) == "1.512 mW");
}

TEST_CASE("spaces are free and exponents are numbers") {
  CHECK(parsed<BytesPerSecond>("900GB/s") == 900e9);
  CHECK(parsed<BytesPerSecond>("  900   GB/s ") == 900e9);
  CHECK(parsed<Bytes>("1e3 B") == 1e3);
  CHECK(parsed<Bytes>("1E+3B") == 1e3);
  CHECK(parsed<Bytes>("2.5e-1 kB") == 250.0);
  CHECK(parsed<Bytes>(".5 kB") == 500.0);
  CHECK(parsed<Bytes>("5. B") == 5.0);
  CHECK(parsed<Bytes>("5EB") == 5e18);
  CHECK(parsed<Bytes>("5EiB") == 5.0 * std::ldexp(1.0, 60));
  CHECK(parsed<Bytes>("0e99999999999999999999 B") == 0.0);
}

TEST_CASE("decimal prefixes do not round twice") {
  // 0.3 * 1e-3 and 4.35 * 1e2 are off by one bit from the nearest double.
  CHECK(parsed<Seconds>("0.3 ms") == 0.0003);
  CHECK(parsed<Seconds>("1.1 ns") == 1.1e-9);
  CHECK(parsed<Bytes>("1.0995116 TB") == 1099511600000.0);
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const std::string digits = "0." + std::to_string(random() % 1'000'000'000);
    CHECK(parsed<Bytes>(digits + " GB") == std::stod(digits + "e9"));
    CHECK(parsed<Seconds>(digits + " us") == std::stod(digits + "e-6"));
  }
}

TEST_CASE("a number without a unit is refused") {
  CHECK(refusal<BytesPerSecond>("900") == "expected a quantity like '900 GB/s', got '900'");
  CHECK(refusal<Bytes>("640") == "expected a quantity like '640 MiB', got '640'");
  CHECK(refusal<Hertz>("1.25") == "expected a quantity like '1.25 GHz', got '1.25'");
  CHECK(refusal<Seconds>("0") == "expected a quantity like '500 ms' or '20 min', got '0'");
}

TEST_CASE("what is no finite non-negative number is refused") {
  for (const std::string text :
       {"", " ", "B", "inf B", "nan B", "infinity B", "0x10 B", ".", ". B", "+5 B", "1,5 B",
        "1 000 B", "1_000 B", "e3 B", "1.2.3 B", "--1 B", "\xff B"}) {
    CAPTURE(text);
    CHECK(refusal<Bytes>(text).starts_with("expected a quantity like '640 MiB', got '"));
  }
  CHECK(refusal<Bytes>("-1 B") ==
        "expected a quantity like '640 MiB', got '-1 B', which is negative");
  for (const std::string text :
       {"1e400 B", "1e-400 B", "1e308 EB", "1e308 EiB", "1e99999999999999999999 B",
        "1e-99999999999999999999 B", "1e9223372036854775807 EB"}) {
    CAPTURE(text);
    CHECK(refusal<Bytes>(text).ends_with(", which is out of range"));
  }
  CHECK(refusal<Seconds>("1e308 h").ends_with(", which is out of range"));
}

TEST_CASE("a unit of something else, or none, is refused with the ones there are") {
  CHECK(refusal<Seconds>("5 sec") ==
        "expected a quantity like '500 ms' or '20 min', got '5 sec': the unit 'sec' is not one of "
        "s, ms, us, "
        "ns, min, h");
  for (const std::string text : {"5 GB", "5 Gbps", "5 gb/s", "5 GB/S", "5 KB/s", "5 GB/s!",
                                 "5 GB/s GB/s", "5 GB/ms", "5 kiB/s", "5 /s", "5 mB/s"}) {
    CAPTURE(text);
    CHECK(refusal<BytesPerSecond>(text).find("is not one of") != std::string::npos);
  }
  CHECK(refusal<Hertz>("1 GiHz").find("is not one of") != std::string::npos);
}

TEST_CASE("a long text is cut in the message") {
  CHECK(refusal<Bytes>(std::string(100'000, '7')).size() < 200);
  CHECK(refusal<Bytes>("1 " + std::string(100'000, 'B')).size() < 300);
}

TEST_CASE("plain numbers") {
  CHECK(parse_number("0.9") == 0.9);
  CHECK(parse_number("-3e2") == -300.0);
  CHECK(parse_number("16522.25023") == 16522.25023);
  CHECK_THROWS_WITH_AS(parse_number("0.9x"), "expected a number, got '0.9x'", InputError);
  CHECK_THROWS_WITH_AS(parse_number("inf"), "expected a number, got 'inf'", InputError);
  CHECK_THROWS_WITH_AS(parse_number("1e400"),
                       "expected a number, got '1e400', which is out of range", InputError);
}

TEST_CASE("short forms have four digits and a fitting prefix") {
  CHECK(to_text(Seconds(78.99123)) == "78.99 s");
  CHECK(to_text(Seconds(0.00367)) == "3.67 ms");
  CHECK(to_text(Seconds(4.5e-7)) == "450 ns");
  CHECK(to_text(Seconds(1e-12)) == "0.001 ns");
  CHECK(to_text(Seconds(4909.147625)) == "4909 s");
  CHECK(to_text(Seconds(123456.7)) == "123457 s");
  CHECK(to_text(Seconds(0.0)) == "0 s");
  CHECK(to_text(Bytes(671088640.0)) == "671.1 MB");
  CHECK(to_text(Bytes(1099511600000.0)) == "1.1 TB");
  CHECK(to_text(Bytes(512.0)) == "512 B");
  CHECK(to_text(BytesPerSecond(50e9)) == "50 GB/s");
  CHECK(to_text(Hertz(1.25e9)) == "1.25 GHz");
  CHECK(to_text(Flops(3.85e19)) == "38.5 EFLOP");
  CHECK(to_text(FlopsPerSecond(614.4e12)) == "614.4 TFLOP/s");
  CHECK(to_text(Dollars(20129408.0)) == "20.13 M$");
  CHECK(to_text(Watts(3713.6)) == "3.714 kW");
  CHECK(to_text(FlopsPerSecondPerDollar(2.5e10)) == "25 GFLOP/s/$");
  CHECK(to_text(FlopsPerSecondPerWatt(9e11)) == "900 GFLOP/s/W");
  CHECK(to_text(FlopsPerByte(12.3456)) == "12.35 FLOP/B");
}

TEST_CASE("short forms never show a thousand of a prefix") {
  CHECK(to_text(Bytes(999.94)) == "999.9 B");
  CHECK(to_text(Bytes(999.96)) == "1 kB");
  CHECK(to_text(Bytes(999.96e6)) == "1 GB");
  CHECK(to_text(Seconds(0.99996)) == "1 s");
  CHECK(to_text(Seconds(0.9994e-3)) == "999.4 us");
}

TEST_CASE("infinite and negative values have a text as well") {
  CHECK(to_text(Bytes::infinity()) == "inf B");
  CHECK(to_text(Bytes(-2e6)) == "-2 MB");
}

TEST_CASE("exact forms are short") {
  CHECK(to_exact_text(Bytes(1099511600000.0)) == "1099511600000 B");
  CHECK(to_exact_text(Bytes(0.5)) == "0.5 B");
  CHECK(to_exact_text(BytesPerSecond(50e9)) == "50000000000 B/s");
  CHECK(to_exact_text(Hertz(1.25e9)) == "1250000000 Hz");
  CHECK(to_exact_text(Seconds(1200.0)) == "1200 s");
  CHECK(to_exact_text(0.9) == "0.9");
  CHECK(to_exact_text(0.0) == "0");
  CHECK(to_exact_text(1e24) == "1e+24");
}

TEST_CASE("exact forms parse back to the same double") {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> exponent(-40.0, 40.0);
  for (int i = 0; i < 10'000; ++i) {
    const double value = std::pow(10.0, exponent(random));
    CAPTURE(value);
    CHECK(parsed<Bytes>(to_exact_text(Bytes(value))) == value);
    CHECK(parsed<BytesPerSecond>(to_exact_text(BytesPerSecond(value))) == value);
    CHECK(parsed<Hertz>(to_exact_text(Hertz(value))) == value);
    CHECK(parsed<Seconds>(to_exact_text(Seconds(value))) == value);
    CHECK(parse_number(to_exact_text(-value)) == -value);
  }
}

}  // namespace
}  // namespace dfsearch
