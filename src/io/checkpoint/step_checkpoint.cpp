// Nodes are packed into a byte string: level, bound, the decisions taken, the bounds below.

#include "io/checkpoint/step_checkpoint.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "io/checkpoint/bytes.hpp"
#include "io/checkpoint/checkpoint_frame.hpp"
#include "io/checkpoint/checkpoint_nodes.hpp"
#include "io/text/read_file.hpp"

namespace dfsearch {
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
