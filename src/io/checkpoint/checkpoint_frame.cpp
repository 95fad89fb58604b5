// A checkpoint is a line of text with its kind and version, a checksum, and a map in CBOR (RFC
// 8949).  Only the same version can read it, for the same problem; both are checked.

#include "io/checkpoint/checkpoint_frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/version.hpp"
#include "io/text/files.hpp"

namespace dfsearch {
namespace {

using Map = nlohmann::json;

// The version of the format is raised whenever the content of checkpoints changes.
constexpr std::string_view kKind = "dfsearch checkpoint ";
constexpr std::string_view kMagic = "dfsearch checkpoint 6\n";
constexpr std::int64_t kLargestCounter = std::int64_t{1} << 60;  // leaves room to add to it

std::uint32_t checksum(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

/// The counters and times of SearchStats, by name.
template <class Stats, class Visit>
void visit_stats(Stats& stats, Visit visit) {
  visit("nodes", stats.nodes);
  visit("proof_nodes", stats.proof_nodes);
  visit("outer_points", stats.outer_points);
  visit("outer_points_opened", stats.outer_points_opened);
  visit("ideals", stats.ideals);
  visit("pruned_by_bound", stats.pruned_by_bound);
  visit("pruned_by_dominance", stats.pruned_by_dominance);
  visit("pruned_by_capacity", stats.pruned_by_capacity);
  visit("incumbents", stats.incumbents);
  visit("time", stats.time);
  visit("proof_time", stats.proof_time);
  visit("first_incumbent", stats.first_incumbent);
  visit("best_incumbent", stats.best_incumbent);
}

struct PutStat {
  Map& map;
  void operator()(const char* name, std::int64_t value) const { map[name] = value; }
  void operator()(const char* name, Seconds value) const { map[name] = value.in_base_units(); }
};

struct GetStat {
  const Map& map;
  void operator()(const char* name, std::int64_t& value) const {
    value = get_integer<std::int64_t>(map.at(name));
    if (value >= 0 && value <= kLargestCounter) return;
    throw BadBytes(fmt::format("'{}' is {}, expected a count", name, value));
  }
  /// An infinite time belongs to an event that never happened.
  void operator()(const char* name, Seconds& value) const {
    value = Seconds(map.at(name).get<double>());
    if (value >= Seconds{}) return;
    throw BadBytes(fmt::format("'{}' is {} s, expected a time", name, value.in_base_units()));
  }
};

Map put_problem(const Fingerprint& problem) {
  Map map;
  for (const auto& [section, number] : problem) map[section] = number;
  return map;
}

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw InputError(name + ": " + why);
}

/// Checks that the bytes are a whole checkpoint and returns its map.
Map unpack(std::string_view bytes, const std::string& name) {
  if (!bytes.starts_with(kKind)) refuse(name, "is no checkpoint of dfsearch");
  if (!bytes.starts_with(kMagic)) {
    refuse(name, "is a checkpoint of another form, written by another version of dfsearch");
  }
  bytes.remove_prefix(kMagic.size());
  constexpr std::size_t kChecksumSize = 4;
  std::uint32_t expected = 0;
  for (std::size_t i = 0; i < kChecksumSize && i < bytes.size(); ++i) {
    expected |= std::uint32_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
  }
  bytes.remove_prefix(std::min(kChecksumSize, bytes.size()));
  if (checksum(bytes) != expected) {
    refuse(name, "is a checkpoint that was cut short or damaged");
  }
  return parse_cbor(bytes);
}

void check_origin(const Map& map, const std::string& name, const Fingerprint& problem) {
  const auto version = map.at("version").get<std::string>();
  if (version != kVersion) {
    refuse(name, fmt::format("is a checkpoint of dfsearch {}, this is {}", version, kVersion));
  }
  std::string different;
  const Map& found = map.at("problem");
  for (const auto& [section, number] : problem) {
    if (found.contains(section) && found.at(section) == number) continue;
    different += (different.empty() ? "" : ", ") + section;
  }
  if (different.empty() && found.size() != problem.size()) different = "technology";
  if (!different.empty()) {
    refuse(name, "is a checkpoint of another config: another " + different);
  }
}

/// Turns exceptions of the library into InputError: bytes with a correct checksum may still be
/// invalid.
template <class Read>
auto with_clear_errors(const std::string& name, Read read) {
  try {
    return read();
  } catch (const Map::exception& error) {
    refuse(name, std::string("is a damaged checkpoint: ") + error.what());
  } catch (const BadBytes& error) {
    refuse(name, std::string("is a damaged checkpoint: ") + error.what());
  }
}

}  // namespace

std::string framed(Map map, const Fingerprint& problem) {
  map["version"] = kVersion;
  map["problem"] = put_problem(problem);
  std::string cbor;
  Map::to_cbor(map, nlohmann::detail::output_adapter<char>(cbor));
  std::string bytes(kMagic);
  const std::uint32_t sum = checksum(cbor);
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>((sum >> shift) & 0xff);
  return bytes + cbor;
}

void read_framed(std::string_view bytes, const std::string& name, const Fingerprint& problem,
                 const std::function<void(const Map&)>& read) {
  with_clear_errors(name, [&] {
    const Map map = unpack(bytes, name);
    check_origin(map, name, problem);
    read(map);
  });
}

bool check_replaceable(const std::filesystem::path& file, const Fingerprint& problem) {
  std::error_code error;
  if (std::filesystem::is_fifo(file, error)) {
    throw InputError(file.string() + ": is a pipe, expected a file for the checkpoint");
  }
  if (!std::filesystem::is_regular_file(file, error) || std::filesystem::is_empty(file, error)) {
    return false;
  }
  const std::string name = file.string();
  try {
    const std::string bytes = read_file(file, kLargestCheckpoint);
    with_clear_errors(name, [&] { check_origin(unpack(bytes, name), name, problem); });
  } catch (const InputError& reason) {
    throw InputError(reason.messages().front() + "; it is not overwritten");
  }
  return true;
}

Map binary(const std::string& bytes) {
  return Map::binary(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

std::string_view text_of(const Map& binary) {
  const auto& bytes = binary.get_binary();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Map put_stats(const SearchStats& stats) {
  Map map;
  visit_stats(stats, PutStat{map});
  return map;
}

SearchStats get_stats(const Map& map) {
  SearchStats stats;
  visit_stats(stats, GetStat{map});
  return stats;
}

}  // namespace dfsearch
