// Boxes are packed into a byte string, the least and the most steps of every share in turn.

#include "io/checkpoint/split_checkpoint.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "design/split_space.hpp"
#include "io/checkpoint/bytes.hpp"
#include "io/checkpoint/checkpoint_frame.hpp"
#include "io/checkpoint/checkpoint_nodes.hpp"
#include "io/text/read_file.hpp"

namespace dfsearch {
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
  /// A split within the sums.
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

}  // namespace dfsearch
