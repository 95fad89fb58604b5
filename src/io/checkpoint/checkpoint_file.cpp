// A checkpoint is a line of text that says what it is, a checksum, and a map in
// CBOR (RFC 8949).  What there may be a million of, nodes and partitions, is
// packed into byte strings of the map (io/checkpoint/checkpoint_nodes.hpp).
//
// Positions of kernels and numbers of networks follow from the problem, so a
// checkpoint is only good for the version and the problem that wrote it.  Both are
// checked.

#include "io/checkpoint/checkpoint_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/version.hpp"
#include "io/checkpoint/cbor_map.hpp"
#include "io/checkpoint/checkpoint_nodes.hpp"
#include "io/checkpoint/problem_fingerprint.hpp"
#include "io/text/read_file.hpp"

namespace dfsearch {
namespace {

using Map = nlohmann::json;

// The number is that of the form; whoever changes what a checkpoint holds counts it up.
constexpr std::string_view kKind = "dfsearch checkpoint ";
constexpr std::string_view kMagic = "dfsearch checkpoint 2\n";
constexpr std::int64_t kLargestCounter = std::int64_t{1} << 60;  // a search can add to it
constexpr std::size_t kLargestFile = std::size_t{1} << 40;

std::uint32_t checksum(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

Map put_mapping(const MappingSolution& solution) {
  Map loops = Map::array();
  for (const Loop loop : solution.sharding) loops.push_back(number_of(loop));
  const auto& [network, tile, micro_batch, spilled] = solution.point;
  return {{"point", {network, tile, micro_batch, spilled ? 1 : 0}},
          {"sharding", std::move(loops)},
          {"partition", solution.fusion.partition}};
}

/// A real number is refused: outside the range of T its conversion is undefined.
template <class T>
T get_integer(const Map& number) {
  if (!number.is_number_integer()) throw BadBytes();
  return number.get<T>();
}

template <class T>
std::vector<T> get_integers(const Map& list) {
  std::vector<T> numbers;
  for (const Map& number : list) numbers.push_back(get_integer<T>(number));
  return numbers;
}

MappingSolution get_mapping(const Map& map, const NodeReader& reader) {
  return reader.mapping(get_integers<std::uint64_t>(map.at("point")),
                        get_integers<std::uint64_t>(map.at("sharding")),
                        get_integers<std::int64_t>(map.at("partition")));
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

Map put_problem(const Problem& problem) {
  Map map;
  for (const auto& [section, number] : fingerprint_of(problem)) map[section] = number;
  return map;
}

Map binary(const std::string& bytes) {
  return Map::binary(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

std::string_view text_of(const Map& binary) {
  const auto& bytes = binary.get_binary();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Map put_state(const SearchState& state, std::size_t kernels) {
  Map map;
  map["finished"] = Map::array();
  for (const SearchState::Finished& finished : state.finished) {
    Map one = put_mapping(finished.solution);
    one["lower_bound"] = finished.lower_bound.in_base_units();
    map["finished"].push_back(std::move(one));
  }
  NodeWriter writer(kernels);
  for (const SearchState::Entry& entry : state.open) writer.put(entry.node);
  map["begun"] = state.begun;
  map["floor"] = state.floor.in_base_units();
  map["open"] = state.open.size();
  map["nodes"] = binary(writer.nodes());
  map["partitions"] = writer.chain_length();
  map["chain"] = binary(writer.chain());
  map["shardings"] = writer.sharding_count();
  map["loops"] = binary(writer.shardings());
  map["incumbent"] = state.incumbent ? put_mapping(*state.incumbent) : Map();
  map["found_by"] = std::string(1, state.found_by);
  map["first_of_ties"] = state.first_of_ties;
  visit_stats(state.stats, PutStat{map["stats"]});
  return map;
}

SearchState get_state(const Map& map, const Problem& problem) {
  NodeReader reader(problem);
  SearchState state;
  for (const Map& finished : map.at("finished")) {
    state.finished.push_back(
        {.solution = get_mapping(finished, reader),
         .lower_bound = checked_bound(finished.at("lower_bound").get<double>(), "an answer")});
  }
  reader.read_chain(text_of(map.at("chain")), get_integer<std::uint64_t>(map.at("partitions")));
  reader.read_shardings(text_of(map.at("loops")), get_integer<std::uint64_t>(map.at("shardings")));
  state.open =
      reader.read_nodes(text_of(map.at("nodes")), get_integer<std::uint64_t>(map.at("open")));
  map.at("begun").get_to(state.begun);
  state.floor = checked_bound(map.at("floor").get<double>(), "the tree");
  map.at("first_of_ties").get_to(state.first_of_ties);
  const auto found_by = map.at("found_by").get<std::string>();
  if (found_by.size() != 1) throw BadBytes();
  state.found_by = found_by.front();
  const Map& incumbent = map.at("incumbent");
  if (!incumbent.is_null()) state.incumbent = get_mapping(incumbent, reader);
  visit_stats(state.stats, GetStat{map.at("stats")});
  return state;
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

void check_origin(const Map& map, const std::string& name, const Problem& problem) {
  const auto version = map.at("version").get<std::string>();
  if (version != kVersion) {
    refuse(name, fmt::format("is a checkpoint of dfsearch {}, this is {}", version, kVersion));
  }
  std::string different;
  for (const auto& [section, number] : fingerprint_of(problem)) {
    if (map.at("problem").at(section) == number) continue;
    different += (different.empty() ? "" : ", ") + section;
  }
  if (!different.empty()) {
    refuse(name, "is a checkpoint of another config: another " + different);
  }
}

/// What a library throws at bytes that pass the checksum and still make no sense.
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

std::string checkpoint_bytes(const Problem& problem, const SearchState& state) {
  Map map = put_state(state, problem.workload.graph.kernel_count());
  map["version"] = kVersion;
  map["problem"] = put_problem(problem);
  std::string cbor;
  Map::to_cbor(map, nlohmann::detail::output_adapter<char>(cbor));
  std::string bytes(kMagic);
  const std::uint32_t sum = checksum(cbor);
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>((sum >> shift) & 0xff);
  return bytes + cbor;
}

SearchState parse_checkpoint(const std::string& bytes, const std::string& name,
                             const Problem& problem) {
  return with_clear_errors(name, [&] {
    const Map map = unpack(bytes, name);
    check_origin(map, name, problem);
    return get_state(map, problem);
  });
}

SearchState load_checkpoint(const std::filesystem::path& file, const Problem& problem) {
  return parse_checkpoint(read_file(file, kLargestFile), file.string(), problem);
}

void check_replaceable(const std::filesystem::path& file, const Problem& problem) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) || std::filesystem::is_empty(file, error)) {
    return;
  }
  const std::string name = file.string();
  try {
    with_clear_errors(
        name, [&] { check_origin(unpack(read_file(file, kLargestFile), name), name, problem); });
  } catch (const InputError& reason) {
    throw InputError(reason.messages().front() + "; it is not overwritten");
  }
}

}  // namespace dfsearch
