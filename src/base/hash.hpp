#pragma once
// A hash of text, the same on every machine: FNV-1a of 64 bits (Fowler, Noll and Vo).

#include <cstdint>
#include <string_view>

namespace dfsearch {

/// The hash of the concatenation of all texts that are put in.
class Hash {
 public:
  void put(std::string_view text) {
    for (const char byte : text) {
      value_ = (value_ ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3ULL;
    }
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

inline std::uint64_t hash_of(std::string_view text) {
  Hash hash;
  hash.put(text);
  return hash.value();
}

}  // namespace dfsearch
