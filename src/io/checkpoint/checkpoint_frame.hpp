#pragma once
// Common parts of the checkpoints of all kinds of searches: the frame of a file, the counters, and
// values as bytes, the same on every machine.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/tree/search_stats.hpp"
#include "io/checkpoint/problem_fingerprint.hpp"

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

/// Parses CBOR.  Throws nlohmann::json::exception if they are no CBOR, and BadBytes if lists and
/// maps in it are nested deeper than in any checkpoint.
nlohmann::json parse_cbor(std::string_view bytes);

inline constexpr std::size_t kLargestCheckpoint = std::size_t{1} << 40;

/// The map as bytes, with the version of the program and whose it is.
std::string framed(nlohmann::json map, const Fingerprint& problem);

/// Reads them back and hands the map to `read`.  Throws InputError, naming the file, if they are no
/// checkpoint, damaged, of another version of dfsearch or of another problem; BadBytes, or an
/// exception of the library, that `read` throws at a map without sense becomes one, too.
void read_framed(std::string_view bytes, const std::string& name, const Fingerprint& problem,
                 const std::function<void(const nlohmann::json&)>& read);

/// Throws InputError if the file holds something that a checkpoint of this problem must not
/// replace: anything but one, or a checkpoint of another problem.  Whether there is one of this.
bool check_replaceable(const std::filesystem::path& file, const Fingerprint& problem);

/// A number of the map as an integer; throws BadBytes for a real one, whose conversion may be
/// undefined.
template <class T>
T get_integer(const nlohmann::json& number) {
  if (!number.is_number_integer()) throw BadBytes();
  return number.get<T>();
}

nlohmann::json binary(const std::string& bytes);
std::string_view text_of(const nlohmann::json& binary);

nlohmann::json put_stats(const SearchStats& stats);
/// Throws BadBytes.
SearchStats get_stats(const nlohmann::json& map);

}  // namespace dfsearch
