#pragma once
// The whole problem as one tree: first the decisions outside the layer (network,
// tile, micro-batch), then its fusion (docs/search.md, sections 3 and 4).

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/fusion_search.hpp"
#include "engine/fusion_tables.hpp"
#include "engine/mapping_space.hpp"
#include "engine/search_problem.hpp"
#include "engine/search_stats.hpp"
#include "engine/transpositions.hpp"
#include "model/evaluate.hpp"
#include "model/problem.hpp"
#include "model/step_time.hpp"

namespace dfsearch {

/// An outer point whose fusion is being searched.  Shared by its nodes.
struct FusionContext {
  FusionContext(std::shared_ptr<const FusionTables> tables, const StepTime& step);

  std::shared_ptr<const FusionTables> shared_tables;
  const FusionTables& tables;
  FusionSearch search;
  StepTime step;
  mutable Transpositions transpositions;

  [[nodiscard]] Seconds step_time(Ticks layer) const {
    return step.step(tables.clock().seconds(layer));
  }
  /// The most ticks of a layer whose step takes at most so long.
  [[nodiscard]] Ticks ticks_within(Seconds step_time) const;
};

/// A complete mapping but for the cores, which follow from it.
struct MappingSolution {
  Seconds cost{};
  OuterPoint point;
  Fusion fusion;
};

/// A SearchProblem (engine/search_problem.hpp).
class MappingProblem {
 public:
  struct Node {
    Seconds bound{};
    std::optional<OuterPoint> point;               // empty: the root
    std::shared_ptr<const FusionContext> context;  // null: the point is not opened yet
    FusionNode fusion;
  };
  using Solution = MappingSolution;

  /// Everything about the problem that any tree over it can share.
  struct Shared {
    std::vector<NetworkChoice> networks;
    std::vector<Loop> sharding;
    std::shared_ptr<const KernelOrder> order;
    std::mutex mutex;
    std::map<OuterPoint, std::shared_ptr<const FusionTables>> tables;  // guarded by mutex
  };

  /// Steps of an enumeration before it is handed back to the queue: about a
  /// millisecond, short enough for limits and for other workers to take a part.
  static constexpr std::int64_t kStepsPerNode = 10'000;

  /// Refers to the problem.
  explicit MappingProblem(const Problem& problem, std::int64_t steps_per_node = kStepsPerNode);
  /// Another tree over the same problem that uses the tables built already but
  /// knows nothing of what was searched.
  MappingProblem(const MappingProblem& other, std::int64_t steps_per_node);

  [[nodiscard]] Node root() const { return {}; }
  [[nodiscard]] Seconds bound(const Node& node) const { return node.bound; }
  [[nodiscard]] Seconds cost(const Solution& solution) const { return solution.cost; }
  [[nodiscard]] bool precedes(const Solution& a, const Solution& b) const;
  [[nodiscard]] bool before(const Node& node, const Solution& solution) const;
  [[nodiscard]] bool admit(const Node& node) const;
  void branch(const Node& node, Expansion<Node, Solution>& expansion) const;

  [[nodiscard]] const std::vector<NetworkChoice>& networks() const { return networks_; }
  [[nodiscard]] LayerDecisions decisions(OuterPoint point) const;
  /// The tables of a point; its transposition table is empty.
  [[nodiscard]] std::shared_ptr<const FusionContext> open(OuterPoint point) const;
  [[nodiscard]] Mapping mapping(const Solution& solution) const;
  /// The solution that a mapping is, if it fits and has the sharding of this
  /// problem.
  [[nodiscard]] std::optional<Solution> solution(const Mapping& mapping) const;

  /// Adds what only the problem counts: outer points, ideals, capacities.
  void add_stats(SearchStats& stats) const;

 private:
  using Sink = Expansion<Node, Solution>;

  void branch_root(Sink& expansion) const;
  void open_point(const Node& node, Sink& expansion) const;
  void branch_fusion(const Node& node, Sink& expansion) const;
  void evaluate_kernel_by_kernel(const Node& node, Sink& expansion) const;
  [[nodiscard]] Seconds point_bound(OuterPoint point) const;

  const Problem& problem_;
  const std::int64_t steps_per_node_;
  std::shared_ptr<Shared> shared_;
  const std::vector<NetworkChoice>& networks_;
  const std::vector<Loop>& sharding_;
  // Counters: added to by any worker, relaxed, read after the search.
  mutable std::atomic<std::int64_t> points_{0};
  mutable std::atomic<std::int64_t> points_opened_{0};
  mutable std::atomic<std::int64_t> cut_by_capacity_{0};
  mutable std::atomic<std::int64_t> ideals_{0};
};

}  // namespace dfsearch
