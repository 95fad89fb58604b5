// A checkpoint is a line of text with its kind and version, a checksum, and a map in CBOR (RFC
// 8949).  Only the version and the problem that wrote it can read it; both are checked.

// The fingerprint walks the rows of schemas (schema/schema.hpp): it includes keys that affect a
// cost, but no default of an absent key, so that a new key changes no fingerprint.

#include "io/checkpoint/checkpoint_frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/crc.hpp>
#include <optional>
#include <system_error>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/version.hpp"
#include "io/config/config_system.hpp"
#include "io/config/config_technology.hpp"
#include "io/config/workload_text.hpp"
#include "io/schema/write_schema.hpp"
#include "io/text/files.hpp"
#include "io/text/loop_choices.hpp"
#include "model/machine/machine_schema.hpp"
#include "model/objective_rows.hpp"
#include "model/problem_schema.hpp"
#include "technology/chip.hpp"
#include "technology/technology_schema.hpp"

namespace dfsearch {
namespace {

using Map = nlohmann::json;

// Version of the format: it is raised whenever the content of checkpoints changes.
constexpr std::string_view kKind = "dfsearch checkpoint ";
constexpr std::string_view kMagic = "dfsearch checkpoint 6\n";
constexpr std::int64_t kLargestCounter = std::int64_t{1} << 60;  // a search can add to it

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
  /// Infinite: never.
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

/// The map, once the bytes are known to be a whole checkpoint.
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

/// Turns exceptions of a library into InputError, for bytes with a right checksum that make no
/// sense.
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

class ValueHash {
 public:
  template <class... T>
  explicit ValueHash(const T&... values) {
    (put(values), ...);
  }

  void put(const Json& value) { hash_.put(value.dump() + '\n'); }
  template <class T>
  void put(const T& value) {
    put(written(value, kNoCost));
  }
  template <class T, std::size_t n>
  void put(const std::array<T, n>& values) {
    for (const T& value : values) put(value);
  }

  operator std::uint64_t() const { return hash_.value(); }  // NOLINT(google-explicit-constructor)

 private:
  Hash hash_;
};

ValueHash hash_of(const Machine& system) {
  ValueHash all(system.chips, system.accelerator, system.price, system.power);
  for (const MemoryTier& tier : system.memory) all.put(tier);
  if (system.memory[0].latency > Seconds{}) all.put(Json(number(system.memory[0].latency)));
  if (system.peaks.stated()) all.put(system.peaks);
  for (const NetworkDimension& dimension : system.network) {
    all.put(DimensionSection{.dimension = dimension, .ports = {}});
  }
  for (const auto& [name, share, bandwidth, latency] : system.levels) {
    all.put(Json{name_of(name), number(share), number(bandwidth), number(latency)});
  }
  return all;
}

ValueHash hash_of(ShardingChoice choice, const std::vector<std::optional<LoopPair>>& pins,
                  int tensor_axes) {
  ValueHash all(choice, pins);
  if (tensor_axes > 1) all.put(Json(tensor_axes));
  return all;
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

// The library reads a list in a list by calling itself, so that a file of a few thousand opening
// lists would take all of the stack.  It calls a handler at every beginning, where it can be
// stopped.

namespace {

using Map = nlohmann::json;

// Map, "finished", one of them, "point", a number: half of this.
constexpr int kDeepest = 10;

/// A handler that builds the tree as the library does, down to a depth.  The parser calls it by its
/// own type, so its functions hide those with their names in the base.
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

Fingerprint fingerprint_of(const Problem& problem) {
  const auto& [workload, system, execution, equations, objective, sharding, sharding_pins,
               tensor_axes, parallelism] = problem;
  return {{"workload", ValueHash(written_graph(workload, kNoCost))},
          {"system", hash_of(system)},
          {"execution", ValueHash(execution, execution.pins)},
          {"equations", ValueHash(equations)},
          {"objective", ValueHash(objective)},
          {"sharding", hash_of(sharding, sharding_pins, tensor_axes)},
          {"parallelism", ValueHash(parallelism)}};
}

Fingerprint fingerprint_of(const ChipDesign& design) {
  const auto& [technology, budget, given, dimensions, equations] = design;
  ValueHash chip(given, given.levels, given.memory_bandwidth, given.memory_capacity, equations);
  for (const DimensionPorts& ports : dimensions) {
    chip.put(DimensionSection{.dimension = {}, .ports = ports});
  }
  return {{"technology", ValueHash(technology)}, {"budget", ValueHash(budget)}, {"chip", chip}};
}

namespace {

/// A map's entries in the order of their keys; lengths first, so that different trees differ.
std::string canonical(const YamlNode& node) {
  switch (node.type) {
    case YamlNode::Type::Null:
      return "~";
    case YamlNode::Type::Scalar:
      return std::to_string(node.scalar.size()) + ':' + node.scalar;
    case YamlNode::Type::Sequence: {
      std::string text = "[" + std::to_string(node.items.size());
      for (const YamlNode& item : node.items) text += ' ' + canonical(item);
      return text;
    }
    case YamlNode::Type::Map:
      break;
  }
  std::vector<std::string> entries;
  for (const YamlEntry& entry : node.entries) {
    entries.push_back(entry.key + '=' + canonical(entry.value));
  }
  std::sort(entries.begin(), entries.end());
  std::string text = "{" + std::to_string(entries.size());
  for (const std::string& entry : entries) text += ' ' + entry;
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::uint64_t>> fingerprint_of(const YamlNode& config) {
  std::vector<std::pair<std::string, std::uint64_t>> sections;
  for (const YamlEntry& section : config.entries) {
    if (section.key == "search") continue;
    sections.emplace_back(section.key, hash_of(canonical(section.value)));
  }
  std::sort(sections.begin(), sections.end());
  return sections;
}

}  // namespace dfsearch
