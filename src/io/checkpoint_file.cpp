// A checkpoint is a line of text that says what it is, a checksum, and a map in
// CBOR (RFC 8949).  What there may be a million of, nodes and partitions, is
// packed into byte strings of the map:
//
//   chain    each closed partition once, after the one before it: nodes share
//            their beginnings, and share them again when they are read
//   loops    each set of shardings that nodes have left, once
//   nodes    bound, outer point, sharding, and where the fusion has got to
//
// Sets of kernels are those of the positions in engine/kernel_order.hpp, which
// like all else follows from the problem, so a checkpoint is only good for the
// version and the problem that wrote it.  Both are checked.

#include "io/checkpoint_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/crc.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/version.hpp"
#include "graph/loop_set.hpp"
#include "io/bytes.hpp"
#include "io/problem_fingerprint.hpp"
#include "io/read_file.hpp"
#include "model/network_choices.hpp"

namespace dfsearch {
namespace {

using Map = nlohmann::json;

constexpr std::string_view kMagic = "dfsearch checkpoint 1\n";
constexpr std::size_t kLargestFile = std::size_t{1} << 40;

std::uint32_t checksum(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

// Sets of kernels.

void put_set(ByteWriter& out, const KernelSet& set, std::size_t kernels) {
  std::vector<std::uint64_t> words((kernels + 63) / 64);
  set.for_each([&](std::size_t p) { words[p / 64] |= std::uint64_t{1} << (p % 64); });
  for (const std::uint64_t word : words) out.count(word);
}

KernelSet get_set(ByteReader& in, std::size_t kernels) {
  KernelSet set(kernels);
  for (std::size_t first = 0; first < kernels; first += 64) {
    const std::uint64_t word = in.count();
    for (std::size_t bit = 0; bit < 64; ++bit) {
      if ((word >> bit & 1) == 0) continue;
      if (first + bit >= kernels) throw BadBytes();
      set.insert(first + bit);
    }
  }
  return set;
}

// Sets of loops, as bits.

constexpr std::array kLoops = {Loop::None, Loop::Outer, Loop::K, Loop::M, Loop::N};

void put_loops(ByteWriter& out, LoopSet loops) {
  std::uint64_t bits = 0;
  for (std::size_t l = 0; l < kLoops.size(); ++l) {
    if (loops.contains(kLoops[l])) bits |= std::uint64_t{1} << l;
  }
  out.count(bits);
}

LoopSet get_loops(ByteReader& in) {
  const std::uint64_t bits = in.count_up_to((std::uint64_t{1} << kLoops.size()) - 1);
  LoopSet loops;
  for (std::size_t l = 0; l < kLoops.size(); ++l) {
    if ((bits >> l & 1) != 0) loops.insert(kLoops[l]);
  }
  if (loops.size() == 0) throw BadBytes();
  return loops;
}

// Nodes.

enum NodeKind : std::uint64_t { kRoot, kNetwork, kPoint, kFusion, kOpenedFusion };

class NodeWriter {
 public:
  explicit NodeWriter(std::size_t kernels) : kernels_(kernels) {}

  void put(const MappingProblem::Node& node) {
    const FusionNode& fusion = node.fusion;
    NodeKind kind = kRoot;
    if (node.network) kind = kNetwork;
    if (node.point) kind = kPoint;
    if (node.context) kind = fusion.opened ? kOpenedFusion : kFusion;
    nodes_.count(kind);
    nodes_.real(node.bound.in_base_units());
    if (kind == kRoot) return;
    nodes_.count(node.network ? *node.network : node.point->network);
    if (kind == kNetwork) return;
    nodes_.integer(node.point->tile);
    nodes_.integer(node.point->micro_batch);
    nodes_.count(node.point->spilled ? 1 : 0);
    nodes_.count(number_of(node.context    ? node.context->tables.decisions().sharding
                           : node.sharding ? *node.sharding
                                           : LoopSets{}));
    nodes_.integer(node.least_used);
    if (kind == kPoint) return;
    nodes_.count(number_of(fusion.closed.get()));
    nodes_.integer(fusion.spent);
    nodes_.integer(fusion.bound);
    nodes_.integer(fusion.next_index);
    if (kind == kFusion) return;
    nodes_.integer(fusion.opened->index);
    put_set(nodes_, fusion.opened->inside, kernels_);
    put_set(nodes_, fusion.opened->outside, kernels_);
  }

  [[nodiscard]] const std::string& nodes() const { return nodes_.bytes(); }
  [[nodiscard]] const std::string& chain() const { return chain_.bytes(); }
  [[nodiscard]] std::size_t chain_length() const { return numbers_.size(); }
  [[nodiscard]] const std::string& shardings() const { return shardings_.bytes(); }
  [[nodiscard]] std::size_t sharding_count() const { return sharding_numbers_.size(); }

 private:
  /// 0 for none.
  std::uint64_t number_of(const LoopSets& sharding) {
    if (sharding.empty()) return 0;
    const auto [place, is_new] = sharding_numbers_.emplace(sharding, sharding_numbers_.size() + 1);
    if (is_new) {
      for (const LoopSet loops : sharding) put_loops(shardings_, loops);
    }
    return place->second;
  }

  /// 0 for none; the partitions before it are written before it.
  std::uint64_t number_of(const ClosedPartition* last) {
    std::vector<const ClosedPartition*> unknown;
    for (; last != nullptr && !numbers_.contains(last); last = last->previous.get()) {
      unknown.push_back(last);
    }
    std::uint64_t number = last != nullptr ? numbers_[last] : 0;
    for (; !unknown.empty(); unknown.pop_back()) {
      chain_.count(number);
      chain_.integer(unknown.back()->index);
      put_set(chain_, unknown.back()->kernels, kernels_);
      number = numbers_.size() + 1;
      numbers_.emplace(unknown.back(), number);
    }
    return number;
  }

  const std::size_t kernels_;
  ByteWriter nodes_;
  ByteWriter chain_;
  std::unordered_map<const ClosedPartition*, std::uint64_t> numbers_;
  ByteWriter shardings_;
  std::map<LoopSets, std::uint64_t> sharding_numbers_;
};

/// Indices are checked, so that no file leads outside an array.
class NodeReader {
 public:
  explicit NodeReader(const Problem& problem)
      : kernels_(problem.workload.graph.kernel_count()),
        networks_(network_choices(problem).size()),
        sequence_(problem.workload.sequence),
        batch_(problem.workload.global_batch) {
    none_.done = KernelSet(kernels_);
  }

  void read_chain(std::string_view bytes, std::uint64_t length) {
    ByteReader in(bytes);
    for (std::uint64_t i = 0; i < length; ++i) {
      const Link& before = link(in.count_up_to(i));
      auto partition = std::make_shared<ClosedPartition>();
      partition->previous = before.closed;
      partition->index = index(in);
      partition->kernels = get_set(in, kernels_);
      Link next{.closed = partition, .done = before.done, .used = before.used + 1};
      next.done |= partition->kernels;
      links_.push_back(std::move(next));
    }
    if (!in.at_end()) throw BadBytes();
  }

  void read_shardings(std::string_view bytes, std::uint64_t count) {
    ByteReader in(bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      auto sharding = std::make_shared<LoopSets>();
      for (std::size_t k = 0; k < kernels_; ++k) sharding->push_back(get_loops(in));
      shardings_.push_back(std::move(sharding));
    }
    if (!in.at_end()) throw BadBytes();
  }

  std::vector<SearchState::Entry> read_nodes(std::string_view bytes, std::uint64_t count) {
    ByteReader in(bytes);
    std::vector<SearchState::Entry> entries;
    for (std::uint64_t i = 0; i < count; ++i) {
      MappingProblem::Node node = get_node(in);
      const Score bound = node.bound;
      entries.push_back({.bound = bound, .sequence = i, .node = std::move(node)});
    }
    if (!in.at_end()) throw BadBytes();
    return entries;
  }

  /// A mapping as put_mapping made it; its costs are found out elsewhere.
  MappingSolution get_mapping(const Map& map) const {
    const auto point = map.at("point").get<std::vector<std::uint64_t>>();
    if (point.size() != 4) throw BadBytes();
    MappingSolution solution;
    solution.point = checked(point[0], static_cast<std::int64_t>(point[1]),
                             static_cast<std::int64_t>(point[2]), point[3]);
    solution.fusion.partition = map.at("partition").get<std::vector<std::int64_t>>();
    for (const auto loop : map.at("sharding").get<std::vector<std::uint64_t>>()) {
      if (loop >= kLoops.size()) throw BadBytes();
      solution.sharding.push_back(kLoops[loop]);
    }
    if (solution.fusion.partition.size() != kernels_ || solution.sharding.size() != kernels_) {
      throw BadBytes();
    }
    return solution;
  }

 private:
  struct Link {
    std::shared_ptr<const ClosedPartition> closed;
    KernelSet done;
    std::int32_t used = 0;
  };

  [[nodiscard]] const Link& link(std::uint64_t number) const {
    return number == 0 ? none_ : links_[number - 1];
  }

  static std::int32_t index(ByteReader& in) {
    const std::int64_t value = in.integer();
    // Partitions are at most a million (docs/formats.md), indices far fewer than that.
    if (value < 0 || value > (1 << 30)) throw BadBytes();
    return static_cast<std::int32_t>(value);
  }

  static Ticks ticks(ByteReader& in) {
    const std::int64_t value = in.integer();
    if (value < 0 || value > kNever) throw BadBytes();
    return value;
  }

  [[nodiscard]] OuterPoint checked(std::uint64_t network, std::int64_t tile,
                                   std::int64_t micro_batch, std::uint64_t spilled) const {
    if (network >= networks_ || tile < 1 || tile > sequence_ || micro_batch < 1 ||
        micro_batch > batch_) {
      throw BadBytes();
    }
    return {.network = network, .tile = tile, .micro_batch = micro_batch, .spilled = spilled != 0};
  }

  MappingProblem::Node get_node(ByteReader& in) const {
    const std::uint64_t kind = in.count_up_to(kOpenedFusion);
    MappingProblem::Node node;
    node.bound = Score(in.real());
    if (!(node.bound >= Score{})) throw BadBytes();
    if (kind == kRoot) return node;
    const std::uint64_t network = in.count();
    if (kind == kNetwork) {
      if (network >= networks_) throw BadBytes();
      node.network = network;
      return node;
    }
    const std::int64_t tile = in.integer();
    const std::int64_t micro_batch = in.integer();
    node.point = checked(network, tile, micro_batch, in.count_up_to(1));
    const std::uint64_t sharding = in.count_up_to(shardings_.size());
    if (sharding > 0) node.sharding = shardings_[sharding - 1];
    node.least_used = index(in);
    if (kind == kPoint) return node;
    const Link& last = link(in.count_up_to(links_.size()));
    node.fusion.closed = last.closed;
    node.fusion.done = last.done;
    node.fusion.used = last.used;
    node.fusion.spent = ticks(in);
    node.fusion.bound = ticks(in);
    node.fusion.next_index = index(in);
    if (kind == kFusion) return node;
    FusionNode::Opened opened;
    opened.index = index(in);
    opened.inside = get_set(in, kernels_);
    opened.outside = get_set(in, kernels_);
    node.fusion.opened = std::make_shared<const FusionNode::Opened>(std::move(opened));
    return node;
  }

  const std::size_t kernels_;
  const std::size_t networks_;
  const std::int64_t sequence_;
  const std::int64_t batch_;
  Link none_;
  std::vector<Link> links_;
  std::vector<std::shared_ptr<const LoopSets>> shardings_;
};

// The rest.

Map put_mapping(const MappingSolution& solution) {
  Map loops = Map::array();
  for (const Loop loop : solution.sharding) {
    loops.push_back(std::find(kLoops.begin(), kLoops.end(), loop) - kLoops.begin());
  }
  const auto& [network, tile, micro_batch, spilled] = solution.point;
  return {{"point", {network, tile, micro_batch, spilled ? 1 : 0}},
          {"sharding", std::move(loops)},
          {"partition", solution.fusion.partition}};
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
  void operator()(const char* name, std::int64_t& value) const { map.at(name).get_to(value); }
  void operator()(const char* name, Seconds& value) const {
    value = Seconds(map.at(name).get<double>());
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
    state.finished.push_back({.solution = reader.get_mapping(finished),
                              .lower_bound = Score(finished.at("lower_bound").get<double>())});
  }
  reader.read_chain(text_of(map.at("chain")), map.at("partitions").get<std::uint64_t>());
  reader.read_shardings(text_of(map.at("loops")), map.at("shardings").get<std::uint64_t>());
  state.open = reader.read_nodes(text_of(map.at("nodes")), map.at("open").get<std::uint64_t>());
  map.at("begun").get_to(state.begun);
  map.at("first_of_ties").get_to(state.first_of_ties);
  const auto found_by = map.at("found_by").get<std::string>();
  if (found_by.size() != 1) throw BadBytes();
  state.found_by = found_by.front();
  const Map& incumbent = map.at("incumbent");
  if (!incumbent.is_null()) state.incumbent = reader.get_mapping(incumbent);
  visit_stats(state.stats, GetStat{map.at("stats")});
  return state;
}

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw InputError(name + ": " + why);
}

/// The map, once the bytes are known to be a whole checkpoint.
Map unpack(std::string_view bytes, const std::string& name) {
  if (!bytes.starts_with(kMagic)) refuse(name, "is no checkpoint of dfsearch");
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
  return Map::from_cbor(bytes.begin(), bytes.end());
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
  } catch (const Map::exception&) {
    refuse(name, "is a checkpoint that makes no sense");
  } catch (const BadBytes&) {
    refuse(name, "is a checkpoint that makes no sense");
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
