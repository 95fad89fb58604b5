#include "engine/answer/restored_nodes.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/error.hpp"
#include "engine/fusion/fusion_replay.hpp"

namespace dfsearch {
namespace {

using Node = MappingProblem::Node;

class Restoration {
 public:
  explicit Restoration(const MappingProblem& problem) : problem_(problem) {}

  /// Checks a node whose tables are not known yet.
  [[nodiscard]] std::optional<std::string> wrong_decision_in(const Node& node) {
    const std::optional<std::size_t> network =
        node.point ? std::optional(node.point->network) : node.network;
    if (!network) return std::nullopt;
    if (*network >= problem_.networks().size() ||
        problem_.excludes(problem_.networks()[*network])) {
      return "its network is not among the choices";
    }
    if (!node.point) return std::nullopt;
    const std::vector<OuterPoint>& points = points_of(*network);
    if (std::find(points.begin(), points.end(), *node.point) == points.end()) {
      return "its tile or micro-batch is not among the choices";
    }
    return node.sharding ? wrong_loop_in(node) : std::nullopt;
  }

  /// Restores the bound and the fusion of a node that has its tables.
  void restore(Node& node) {
    if (!node.network && !node.point) node.bound = Score{};
    if (node.network && node.bound > Score{}) {
      node.bound = Score::infinity();
      for (const OuterPoint point : points_of(*node.network)) {
        node.bound = std::min(node.bound, bound_of(point));
      }
    }
    if (node.point) restore_fusion(node);
  }

  [[nodiscard]] std::optional<std::string> wrong_fusion_in(const Node& node) {
    DFSEARCH_ASSERT(node.context);
    auto& replay = replays_[node.context.get()];
    if (!replay) replay = std::make_unique<FusionReplay>(node.context->tables);
    return replay->wrong_in(node.fusion);
  }

 private:
  [[nodiscard]] std::optional<std::string> wrong_loop_in(const Node& node) const {
    const LoopSets all = problem_.loops_left(node.point->network, nullptr);
    const bool begun = node.fusion.done.end() != 0;
    for (std::size_t k = 0; k < all.size(); ++k) {
      for (const LoopPair loop : (*node.sharding)[k]) {
        if (!all[k].contains(loop)) return "a kernel is sharded on a loop that is not allowed";
      }
      if (begun && (*node.sharding)[k].size() != 1) return "a loop of its fusion is not decided";
    }
    return std::nullopt;
  }

  void restore_fusion(Node& node) {
    node.bound = bound_of(*node.point);
    if (!node.context) return;
    const FusionContext& context = *node.context;
    FusionNode& fusion = node.fusion;
    fusion.bound = context.search.bound_anew(fusion, nullptr);
    node.bound = std::max(node.bound, context.score(fusion.bound));
  }

  Score bound_of(OuterPoint point) {
    const auto [place, is_new] = bounds_.try_emplace(point);
    if (is_new) place->second = problem_.point_bound(point);
    return place->second;
  }

  const std::vector<OuterPoint>& points_of(std::size_t network) {
    std::vector<OuterPoint>& points = points_[network];
    if (points.empty()) points = outer_points(problem_.problem(), network);
    return points;
  }

  const MappingProblem& problem_;
  std::map<std::size_t, std::vector<OuterPoint>> points_;
  std::map<OuterPoint, Score> bounds_;
  std::unordered_map<const FusionContext*, std::unique_ptr<FusionReplay>> replays_;
};

void refuse(std::size_t number, const std::optional<std::string>& wrong) {
  if (!wrong) return;
  throw InputError("the checkpoint is damaged: open node " + std::to_string(number) + ": " +
                   *wrong);
}

}  // namespace

void restore_nodes(const MappingProblem& problem, std::vector<SearchState::Entry>& entries) {
  Restoration restoration(problem);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    problem.check_deadline();
    refuse(i + 1, restoration.wrong_decision_in(entries[i].node));
  }
  problem.attach_contexts(entries);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Node& node = entries[i].node;
    problem.check_deadline();
    if (node.context) refuse(i + 1, restoration.wrong_fusion_in(node));
    restoration.restore(node);
    entries[i].bound = node.bound;
  }
}

}  // namespace dfsearch
