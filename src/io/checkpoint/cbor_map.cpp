// The library reads a list in a list by calling itself, so that a file of a few
// thousand opening lists would take all of the stack.  It asks a handler at every
// beginning, which is where it can be stopped.

#include "io/checkpoint/cbor_map.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

#include "io/checkpoint/bytes.hpp"

namespace dfsearch {
namespace {

using Map = nlohmann::json;

// Map, "finished", one of them, "point", a number: half of this.
constexpr int kDeepest = 10;

/// Builds the tree as the library's own handler does, down to a depth.
class ShallowBuilder {
 public:
  explicit ShallowBuilder(Map& root) : builder_(root) {}

  bool null() { return builder_.null(); }
  bool boolean(bool value) { return builder_.boolean(value); }
  bool number_integer(std::int64_t value) { return builder_.number_integer(value); }
  bool number_unsigned(std::uint64_t value) { return builder_.number_unsigned(value); }
  bool number_float(double value, const std::string& text) {
    return builder_.number_float(value, text);
  }
  bool string(std::string& value) { return builder_.string(value); }
  bool binary(Map::binary_t& value) { return builder_.binary(value); }
  bool key(std::string& value) { return builder_.key(value); }

  bool start_object(std::size_t size) {
    descend();
    return builder_.start_object(size);
  }
  bool end_object() {
    --depth_;
    return builder_.end_object();
  }
  bool start_array(std::size_t size) {
    descend();
    return builder_.start_array(size);
  }
  bool end_array() {
    --depth_;
    return builder_.end_array();
  }

  template <class Error>
  bool parse_error(std::size_t position, const std::string& token, const Error& error) {
    return builder_.parse_error(position, token, error);
  }

 private:
  void descend() {
    if (++depth_ > kDeepest) throw BadBytes();
  }

  nlohmann::detail::json_sax_dom_parser<Map> builder_;
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
