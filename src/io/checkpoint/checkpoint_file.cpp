// What there may be a million of, nodes and partitions, is packed into byte strings of the map
// (io/checkpoint/checkpoint_nodes.hpp).  Positions of kernels and numbers of networks follow from
// the problem.

#include "io/checkpoint/checkpoint_file.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "io/checkpoint/checkpoint_frame.hpp"
#include "io/checkpoint/checkpoint_nodes.hpp"
#include "io/text/read_file.hpp"

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
  map["first_of_ties"] = state.first_of_ties;
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
  map.at("first_of_ties").get_to(state.first_of_ties);
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

void check_replaceable(const std::filesystem::path& file, const Problem& problem) {
  check_replaceable(file, fingerprint_of(problem));
}

}  // namespace dfsearch
