#include "fuzz/checkpoint_input.hpp"

#include <boost/crc.hpp>
#include <cstdint>

#include "base/version.hpp"
#include "io/checkpoint/bytes.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/checkpoint/problem_fingerprint.hpp"

namespace dfsearch::fuzz {
namespace {

using Map = nlohmann::json;

constexpr std::size_t kChecksumSize = 4;

std::string cbor_of(const Map& map) {
  std::string bytes;
  Map::to_cbor(map, nlohmann::detail::output_adapter<char>(bytes));
  return bytes;
}

}  // namespace

Map map_of(std::string_view content) {
  try {
    return parse_cbor(content);
  } catch (const Map::exception&) {
    return nullptr;
  } catch (const BadBytes&) {
    return nullptr;
  }
}

std::string guarded(std::string_view content, const Problem& problem) {
  std::string bytes(content);
  if (Map map = map_of(content); map.is_object()) {
    map["version"] = kVersion;
    map["problem"] = Map::object();
    for (const auto& [section, number] : fingerprint_of(problem)) map["problem"][section] = number;
    bytes = cbor_of(map);
  }
  const std::string empty = checkpoint_bytes(problem, {});
  std::string file = empty.substr(0, empty.find('\n') + 1);
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  for (std::size_t i = 0; i < kChecksumSize; ++i) {
    file += static_cast<char>((crc.checksum() >> (8 * i)) & 0xff);
  }
  return file + bytes;
}

std::string content_of(const std::string& checkpoint) {
  const std::size_t begin = checkpoint.find('\n') + 1 + kChecksumSize;
  Map map =
      Map::from_cbor(checkpoint.begin() + static_cast<std::ptrdiff_t>(begin), checkpoint.end());
  map.erase("version");
  map.erase("problem");
  return cbor_of(map);
}

}  // namespace dfsearch::fuzz
