#pragma once
// Parts that the fuzz targets share: allowed refusals of an input, and findings.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/error.hpp"

/// A target tries one input; libFuzzer asks for it under this name.  It returns
/// whatever the input is.  What it throws, a finding of a sanitizer, and an input
/// that takes longer than a few seconds are findings.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace dfsearch::fuzz {

/// A property does not hold.
class Finding : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

inline void require(bool holds, const std::string& property) {
  if (!holds) throw Finding("does not hold: " + property);
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// An InputError has at least one message, and each is one printable line.
inline void check_refusal(const InputError& error) {
  require(!error.messages().empty(), "a refusal says why");
  for (const std::string& message : error.messages()) {
    require(!message.empty(), "no message is empty");
    for (const char c : message) {
      const auto byte = static_cast<unsigned char>(c);
      require(byte >= 0x20 && byte != 0x7f, "a message is one printable line: " + message);
    }
  }
}

/// The result of `read`, or nothing if it refuses its input in an allowed way.
template <class Read>
auto unless_refused(Read read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const InputError& error) {
    check_refusal(error);
    return std::nullopt;
  }
}

}  // namespace dfsearch::fuzz
