#pragma once
// Values as bytes, the same on every machine.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace dfsearch {

/// Appends values; small numbers take few bytes.
class ByteWriter {
 public:
  void count(std::uint64_t value);  ///< seven bits a byte, least first
  void integer(std::int64_t value);
  void real(double value);  ///< its eight bytes

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Bytes that no ByteWriter wrote.
class BadBytes : public std::runtime_error {
 public:
  explicit BadBytes(const std::string& why = "its bytes end too early or are not valid")
      : std::runtime_error(why) {}
};

/// Reads the values of a ByteWriter, in the same order; throws BadBytes past the end.  Refers to
/// the bytes.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t count();
  /// Throws BadBytes above `most`.
  std::uint64_t count_up_to(std::uint64_t most);
  std::int64_t integer();
  double real();
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::uint8_t byte();

  std::string_view rest_;
};

/// Parses CBOR. Throws nlohmann::json::exception for other bytes, and BadBytes if lists and maps
/// are nested deeper than in any checkpoint.
nlohmann::json parse_cbor(std::string_view bytes);

}  // namespace dfsearch
