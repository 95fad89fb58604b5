// Nodes and partitions, up to a million, are packed into byte strings of the map
// (io/checkpoint/checkpoint_nodes.hpp).  Positions of kernels and numbers of networks follow from
// the problem.

#include "io/checkpoint/checkpoint_file.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include "io/checkpoint/bytes.hpp"
#include "io/checkpoint/checkpoint_frame.hpp"
#include "io/checkpoint/checkpoint_nodes.hpp"
#include "io/text/files.hpp"

namespace dfsearch {
namespace {

using Map = nlohmann::json;

Map put_mapping(const MappingSolution& solution) {
  Map loops = Map::array();
  for (const LoopPair loop : solution.sharding) loops.push_back(number_of(loop));
  const auto& [network, tile, micro_batch, spilled] = solution.point;
  return {{"point", {network, tile, micro_batch, spilled ? 1 : 0}},
          {"sharding", std::move(loops)},
          {"partition", solution.fusion.partition}};
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
  map["stats"] = put_stats(state.stats);
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
  const auto found_by = map.at("found_by").get<std::string>();
  if (found_by.size() != 1) throw BadBytes();
  state.found_by = found_by.front();
  const Map& incumbent = map.at("incumbent");
  if (!incumbent.is_null()) state.incumbent = get_mapping(incumbent, reader);
  state.stats = get_stats(map.at("stats"));
  return state;
}

}  // namespace

std::string checkpoint_bytes(const Problem& problem, const SearchState& state) {
  return framed(put_state(state, problem.workload.graph.kernel_count()), fingerprint_of(problem));
}

SearchState parse_checkpoint(const std::string& bytes, const std::string& name,
                             const Problem& problem) {
  SearchState state;
  read_framed(bytes, name, fingerprint_of(problem),
              [&](const Map& map) { state = get_state(map, problem); });
  return state;
}

SearchState load_checkpoint(const std::filesystem::path& file, const Problem& problem) {
  return parse_checkpoint(read_file(file, kLargestCheckpoint), file.string(), problem);
}

// Boxes are packed into a byte string, the least and the most steps of every share in turn.

namespace {

using Map = nlohmann::json;

void put_point(ByteWriter& out, const GridPoint& point) {
  for (const std::int32_t steps : point) out.count(static_cast<std::uint64_t>(steps));
}

Map put_state(const SplitState& state) {
  Map map;
  map["finished"] = Map::array();
  for (const SplitState::Finished& finished : state.finished) {
    map["finished"].push_back(
        {{"split", finished.point}, {"lower_bound", finished.lower_bound.in_base_units()}});
  }
  ByteWriter boxes;
  for (const SplitBox& box : state.open) {
    put_point(boxes, box.least);
    put_point(boxes, box.most);
  }
  map["begun"] = state.begun;
  map["open"] = state.open.size();
  map["boxes"] = binary(boxes.bytes());
  map["incumbent"] = state.incumbent ? Map(*state.incumbent) : Map();
  map["stats"] = put_stats(state.stats);
  return map;
}

class StateReader {
 public:
  explicit StateReader(const SplitSpace& space) : space_(space), all_(space.all()) {}

  SplitState read(const Map& map) const {
    SplitState state;
    for (const Map& finished : map.at("finished")) {
      const double bound = finished.at("lower_bound").get<double>();
      state.finished.push_back({split(finished.at("split")), checked_bound(bound, "a split")});
    }
    map.at("begun").get_to(state.begun);
    ByteReader boxes(text_of(map.at("boxes")));
    const auto open = get_integer<std::uint64_t>(map.at("open"));
    for (std::uint64_t i = 0; i < open; ++i) state.open.push_back(box(boxes));
    if (!boxes.at_end()) throw BadBytes();
    const Map& incumbent = map.at("incumbent");
    if (!incumbent.is_null()) state.incumbent = split(incumbent);
    state.stats = get_stats(map.at("stats"));
    return state;
  }

 private:
  /// A split whose steps are within the limits of the problem.
  [[nodiscard]] GridPoint split(const Map& list) const {
    GridPoint point;
    for (const Map& steps : list) point.push_back(get_integer<std::int32_t>(steps));
    if (point.size() != all_.most.size()) throw BadBytes();
    for (std::size_t i = 0; i < point.size(); ++i) {
      if (point[i] < 0 || point[i] > all_.most[i]) throw BadBytes();
    }
    SplitBox box{point, point};
    if (!space_.tighten(box)) throw BadBytes();
    return point;
  }

  [[nodiscard]] GridPoint corner(ByteReader& in) const {
    GridPoint point;
    for (const std::int32_t most : all_.most) {
      point.push_back(static_cast<std::int32_t>(in.count_up_to(static_cast<std::uint64_t>(most))));
    }
    return point;
  }

  [[nodiscard]] SplitBox box(ByteReader& in) const {
    SplitBox box;
    box.least = corner(in);
    box.most = corner(in);
    for (std::size_t i = 0; i < box.least.size(); ++i) {
      if (box.least[i] > box.most[i]) throw BadBytes();
    }
    return box;
  }

  const SplitSpace& space_;
  const SplitBox all_;
};

}  // namespace

Fingerprint fingerprint_of(const Problem& problem, const ChipDesign& design) {
  Fingerprint sections = fingerprint_of(problem);
  for (auto& section : fingerprint_of(design)) sections.push_back(std::move(section));
  return sections;
}

std::string checkpoint_bytes(const Problem& problem, const ChipDesign& design,
                             const SplitState& state) {
  return framed(put_state(state), fingerprint_of(problem, design));
}

SplitState parse_checkpoint(const std::string& bytes, const std::string& name,
                            const Problem& problem, const ChipDesign& design) {
  const SplitSpace space(design);
  SplitState state;
  read_framed(bytes, name, fingerprint_of(problem, design),
              [&](const Map& map) { state = StateReader(space).read(map); });
  return state;
}

SplitState load_checkpoint(const std::filesystem::path& file, const Problem& problem,
                           const ChipDesign& design) {
  return parse_checkpoint(read_file(file, kLargestCheckpoint), file.string(), problem, design);
}

// Nodes are packed into a byte string: level, bound, decisions taken, bounds of the children.

namespace {

using Map = nlohmann::json;

constexpr std::uint64_t kMostDecisions = 1'000'000;  // more than any step has

void put_node(ByteWriter& out, const PlanNode& node) {
  out.count(static_cast<std::uint64_t>(node.level));
  out.real(node.bound.in_base_units());
  out.count(node.taken.size());
  for (const std::int64_t decision : node.taken) out.integer(decision);
  out.count(node.below.size());
  for (const Score bound : node.below) out.real(bound.in_base_units());
}

PlanNode get_node(ByteReader& in) {
  PlanNode node;
  node.level = static_cast<int>(in.count_up_to(100));
  node.bound = checked_bound(in.real(), "an open node");
  const std::uint64_t decisions = in.count_up_to(kMostDecisions);
  for (std::uint64_t i = 0; i < decisions; ++i) node.taken.push_back(in.integer());
  const std::uint64_t below = in.count_up_to(kMostDecisions);
  for (std::uint64_t i = 0; i < below; ++i) node.below.emplace_back(in.real());
  return node;
}

Decisions get_decisions(const Map& list) {
  Decisions decisions;
  for (const Map& decision : list) decisions.push_back(get_integer<std::int64_t>(decision));
  return decisions;
}

Map put_state(const StepState& state) {
  Map map;
  map["finished"] = Map::array();
  for (const StepState::Finished& finished : state.finished) {
    map["finished"].push_back(
        {{"decisions", finished.decisions}, {"lower_bound", finished.lower_bound.in_base_units()}});
  }
  ByteWriter nodes;
  for (const StepState::Entry& entry : state.open) put_node(nodes, entry.node);
  map["begun"] = state.begun;
  map["open"] = state.open.size();
  map["nodes"] = binary(nodes.bytes());
  map["incumbent"] = state.incumbent ? Map(*state.incumbent) : Map();
  map["found_by"] = static_cast<int>(state.found_by);
  map["stats"] = put_stats(state.stats);
  map["measured"] = state.measured;
  map["evaluated"] = state.evaluated;
  return map;
}

StepState get_state(const Map& map) {
  StepState state;
  for (const Map& finished : map.at("finished")) {
    const double bound = finished.at("lower_bound").get<double>();
    state.finished.push_back({.decisions = get_decisions(finished.at("decisions")),
                              .lower_bound = checked_bound(bound, "an answer")});
  }
  map.at("begun").get_to(state.begun);
  ByteReader nodes(text_of(map.at("nodes")));
  const auto open = get_integer<std::uint64_t>(map.at("open"));
  for (std::uint64_t i = 0; i < open; ++i) {
    PlanNode node = get_node(nodes);
    const Score bound = node.bound;
    state.open.push_back({.bound = bound, .sequence = i, .node = std::move(node)});
  }
  if (!nodes.at_end()) throw BadBytes();
  const Map& incumbent = map.at("incumbent");
  if (!incumbent.is_null()) state.incumbent = get_decisions(incumbent);
  state.found_by = static_cast<char>(get_integer<int>(map.at("found_by")));
  state.stats = get_stats(map.at("stats"));
  state.measured = get_integer<std::int64_t>(map.at("measured"));
  state.evaluated = get_integer<std::int64_t>(map.at("evaluated"));
  return state;
}

}  // namespace

std::string checkpoint_bytes(const StepState& state, const Fingerprint& problem) {
  return framed(put_state(state), problem);
}

StepState parse_step_checkpoint(const std::string& bytes, const std::string& name,
                                const Fingerprint& problem) {
  StepState state;
  read_framed(bytes, name, problem, [&](const Map& map) { state = get_state(map); });
  return state;
}

StepState load_step_checkpoint(const std::filesystem::path& file, const Fingerprint& problem) {
  return parse_step_checkpoint(read_file(file, kLargestCheckpoint), file.string(), problem);
}

}  // namespace dfsearch
