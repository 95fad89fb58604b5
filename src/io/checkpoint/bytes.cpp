#include "io/checkpoint/bytes.hpp"

#include <bit>
#include <cstddef>

namespace dfsearch {

void ByteWriter::count(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(0x80 | (value & 0x7f));
  bytes_ += static_cast<char>(value);
}

void ByteWriter::integer(std::int64_t value) {
  // The sign is the lowest bit, so that small negative numbers are short as well.
  const auto bits = static_cast<std::uint64_t>(value);
  count((bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0));
}

void ByteWriter::real(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>((bits >> shift) & 0xff);
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

// nlohmann::json reads nested lists by recursion, so a file that nests a few thousand lists would
// overflow the stack.  The library calls a handler at the beginning of every list, and an exception
// thrown by the handler ends the reading.

namespace {

using Map = nlohmann::json;

// Twice the depth of a checkpoint: map, "finished", an entry, "point", a number.
constexpr int kDeepest = 10;

/// A handler that builds the tree as the library does, and throws below kDeepest.  The parser is a
/// template over the handler, so it calls these functions, which hide the ones of the base class.
class ShallowBuilder : public nlohmann::detail::json_sax_dom_parser<Map> {
 public:
  using json_sax_dom_parser::json_sax_dom_parser;

  bool start_object(std::size_t size) {
    descend();
    return json_sax_dom_parser::start_object(size);
  }
  bool end_object() {
    --depth_;
    return json_sax_dom_parser::end_object();
  }
  bool start_array(std::size_t size) {
    descend();
    return json_sax_dom_parser::start_array(size);
  }
  bool end_array() {
    --depth_;
    return json_sax_dom_parser::end_array();
  }

 private:
  void descend() {
    if (++depth_ > kDeepest) throw BadBytes();
  }

  int depth_ = 0;
};

}  // namespace

Map parse_cbor(std::string_view bytes) {
  Map root;
  ShallowBuilder builder(root);
  Map::sax_parse(bytes.begin(), bytes.end(), &builder, Map::input_format_t::cbor);
  return root;
}

}  // namespace dfsearch
