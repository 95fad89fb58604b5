#include "io/checkpoint/bytes.hpp"

#include <bit>

namespace dfsearch {

void ByteWriter::count(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(0x80 | (value & 0x7f));
  bytes_ += static_cast<char>(value);
}

void ByteWriter::integer(std::int64_t value) {
  // The sign goes last, so that small negative numbers are short as well.
  const auto bits = static_cast<std::uint64_t>(value);
  count((bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0));
}

void ByteWriter::real(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>((bits >> shift) & 0xff);
}

void ByteWriter::text(std::string_view value) {
  count(value.size());
  bytes_ += value;
}

std::uint8_t ByteReader::byte() {
  if (rest_.empty()) throw BadBytes();
  const auto first = static_cast<std::uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  return first;
}

std::uint64_t ByteReader::count() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const std::uint64_t next = byte();
    if (shift == 63 && next > 1) throw BadBytes();
    value |= (next & 0x7f) << shift;
    if (next < 0x80) return value;
  }
  throw BadBytes();
}

std::uint64_t ByteReader::count_up_to(std::uint64_t most) {
  const std::uint64_t value = count();
  if (value > most) throw BadBytes();
  return value;
}

std::int64_t ByteReader::integer() {
  const std::uint64_t bits = count();
  return static_cast<std::int64_t>((bits >> 1) ^ ((bits & 1) != 0 ? ~std::uint64_t{0} : 0));
}

double ByteReader::real() {
  std::uint64_t bits = 0;
  for (int shift = 0; shift < 64; shift += 8) bits |= std::uint64_t{byte()} << shift;
  return std::bit_cast<double>(bits);
}

}  // namespace dfsearch
