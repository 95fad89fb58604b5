#include "io/checkpoint/bytes.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace dfsearch {

TEST_CASE("values come back, and the bytes are the same on every machine") {
  ByteWriter out;
  out.count(300);
  out.integer(-2);
  out.real(1.0);
  // 300 = 2 * 128 + 44; -2 is 3 with the sign last; 1.0 is 0x3ff0000000000000.
  CHECK(out.bytes() == std::string("\xac\x02\x03\0\0\0\0\0\0\xf0\x3f", 11));
  const std::vector<std::int64_t> integers = {0,
                                              1,
                                              -1,
                                              63,
                                              -64,
                                              std::numeric_limits<std::int64_t>::max(),
                                              std::numeric_limits<std::int64_t>::min()};
  const std::vector<std::uint64_t> counts = {0, 127, 128, 1ULL << 35,
                                             std::numeric_limits<std::uint64_t>::max()};
  const std::vector<double> reals = {0.0, -0.0, 5e-324, std::numeric_limits<double>::infinity()};
  ByteWriter all;
  for (const std::int64_t value : integers) all.integer(value);
  for (const std::uint64_t value : counts) all.count(value);
  for (const double value : reals) all.real(value);
  ByteReader in(all.bytes());
  for (const std::int64_t value : integers) CHECK(in.integer() == value);
  for (const std::uint64_t value : counts) CHECK(in.count() == value);
  for (const double value : reals) {
    const double read = in.real();
    CHECK(read == value);
    CHECK(std::signbit(read) == std::signbit(value));
  }
  CHECK(in.at_end());
}

TEST_CASE("bytes that end early or make no sense are refused") {
  CHECK_THROWS_AS(ByteReader("").count(), BadBytes);
  CHECK_THROWS_AS(ByteReader("\x80").count(), BadBytes);
  CHECK_THROWS_AS(ByteReader("1234567").real(), BadBytes);
  // Ten bytes of seven bits are more than 64.
  CHECK_THROWS_AS(ByteReader("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02").count(), BadBytes);
  CHECK_THROWS_AS(ByteReader("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81").count(), BadBytes);
  CHECK(ByteReader("\x05").count_up_to(5) == 5);
  CHECK_THROWS_AS(ByteReader("\x06").count_up_to(5), BadBytes);
}

}  // namespace dfsearch
