#pragma once
// The whole problem as one tree: first the decisions outside the layer (network, tile,
// micro-batch), then the layer's sharding if that is searched, then its fusion (docs/search.md,
// sections 3, 4 and 9).

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/fusion/point_duals.hpp"
#include "engine/fusion/point_moves.hpp"
#include "engine/fusion/segment_fusion.hpp"
#include "engine/fusion/transpositions.hpp"
#include "engine/mapping/point_bound.hpp"
#include "engine/sharding/sharding_space.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/search_bounds.hpp"
#include "engine/tree/open_nodes.hpp"
#include "engine/tree/search_problem.hpp"
#include "engine/tree/tree_search.hpp"
#include "model/evaluate.hpp"
#include "model/problem.hpp"
#include "model/ruled_out.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {

/// The greatest number of ticks of a layer with a score of at most `limit`; -1 if there is none.
Ticks ticks_within(const Clock& clock, const StepTime& step, Score limit);

/// True if no fusion can fit.
bool overfull(const FusionTables& tables);

/// State that all trees over an outer point and a sharding share.
struct PointTables {
  template <class... Arguments>
  explicit PointTables(Arguments&&... arguments)
      : fusion(std::forward<Arguments>(arguments)...), duals(fusion), moves(fusion) {}

  const FusionTables fusion;
  PointDuals duals;
  PointMoves moves;
  std::atomic<Work> used{0};  // work of the nodes of the point; relaxed
};

/// An outer point and a sharding whose fusion is being searched.  Its nodes share this object.
struct FusionContext {
  FusionContext(std::shared_ptr<PointTables> point, const StepTime& step);

  std::shared_ptr<PointTables> point;
  const FusionTables& tables;
  FusionTree search;
  Ticks root_bound;                      // bound of the root, without duals
  std::vector<LoopPair> first_sharding;  // the first of the shardings left
  StepTime step;
  mutable Transpositions transpositions;
  // Lower bound on the time of every fusion, raised whenever duals prove a better one; relaxed.
  mutable std::atomic<Ticks> proved{0};
  mutable std::atomic<std::int64_t> admitted{0};  // nodes; relaxed

  /// Raises the bound of all nodes of the point to the bound that its duals prove for every fusion.
  void learn(const PartitionDuals& duals) const;
  [[nodiscard]] Score score(Ticks layer) const { return step.score(tables.clock().seconds(layer)); }
};

/// A complete mapping except for the cores, which follow from it.
struct MappingSolution {
  Score cost{};
  OuterPoint point;
  std::vector<LoopPair> sharding;
  Fusion fusion;
};

/// A problem as a SearchProblem (engine/tree/search_problem.hpp).
class MappingProblem {
 public:
  struct Node {
    Score bound{};
    // A node is all points of a network, or one point, or the root if both are empty.
    std::optional<std::size_t> network;
    std::optional<OuterPoint> point;
    // Loops left while a joint search decides the sharding; null before and after.
    std::shared_ptr<const LoopSets> sharding;
    std::shared_ptr<const FusionContext> context;  // null until the fusion is begun
    FusionNode fusion;
  };
  using Solution = MappingSolution;

  /// Data about the problem that all trees over it share.
  struct Shared {
    /// Keeps a reference to the problem.
    Shared(const Problem& problem, SearchBounds its_bounds, const Allowance& its_allowance);

    const SearchBounds bounds;
    const Allowance allowance;
    std::vector<NetworkChoice> networks;
    const bool sharding_matters;                // false: shardings cost the same; one is searched
    std::optional<ShardingSpace> space;         // only in a joint search
    std::vector<LoopPair> sharding;             // of least bytes; in a joint search the first tried
    const Score floor;                          // lower bound on the score of every mapping
    std::vector<std::int64_t> replacing_tiles;  // numbers of tiles that may replace others
    CoreOptionsCache core_options;
    std::mutex order_mutex;
    std::shared_ptr<const KernelOrder> order;  // null until first used; guarded by order_mutex
    MemoryCharge order_memory;                 // guarded by order_mutex
    std::mutex mutex;
    // For each network the bounds of its points; null until they are known.  Guarded by mutex.
    std::vector<std::shared_ptr<const std::vector<Score>>> point_bounds;
    std::map<OuterPoint, std::shared_ptr<PointTables>> tables;  // guarded by mutex
  };

  /// Keeps a reference to the problem.  The tree contains at least one of the best mappings.
  /// `allowance` holds for all trees made from this one; long operations throw Stopped by its
  /// deadline.
  explicit MappingProblem(const Problem& problem, NodeEffort effort = {}, SearchBounds bounds = {},
                          const Allowance& allowance = {});
  /// Another tree over the same problem, without these parallelisms.  It shares the tables that are
  /// built already, but no results of a search.
  [[nodiscard]] MappingProblem without(std::vector<Parallelism> excluded, NodeEffort effort) const;

  [[nodiscard]] Node root() const {
    Node root;
    root.bound = shared_->floor;
    return root;
  }
  /// Throws Stopped.
  void check_deadline() const { shared_->allowance.deadline.check(); }
  [[nodiscard]] Score bound(const Node& node) const { return node.bound; }
  /// Bound of the node, raised to the bound that duals have proved of its point since.
  [[nodiscard]] Score bound_now(const Node& node) const {
    if (!node.context) return node.bound;
    const FusionContext& context = *node.context;
    return std::max(node.bound, context.score(context.proved.load(std::memory_order_relaxed)));
  }
  [[nodiscard]] Score cost(const Solution& solution) const { return solution.cost; }
  [[nodiscard]] bool admit(const Node& node) const;
  [[nodiscard]] bool contains(const Node& node, const Solution& solution) const;
  [[nodiscard]] std::size_t heap_bytes(const Node& node) const;
  void branch(const Node& node, Expansion<Node, Solution>& expansion) const;

  /// Work of a technique beside the tree at the point of a node, within the effort rule.
  struct Slice {
    std::shared_ptr<const FusionContext> context;
    OuterPoint point;
    Technique technique = Technique::Duals;
    Work work = 0;
  };
  /// Claims the slices that are due at the point of the node.
  void claim_slices(const Node& node, std::vector<Slice>& slices) const;
  void run(const Slice& slice, Expansion<Node, Solution>& expansion) const;
  /// Publishes the results of the slice to all nodes, and gives the claim back.
  void publish(const Slice& slice) const;

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const std::vector<NetworkChoice>& networks() const { return networks_; }
  /// Whether the tree leaves out the parallelism of this network.
  [[nodiscard]] bool excludes(const NetworkChoice& network) const;
  /// The loops of each kernel that are left along a network, given the loops of a node; null: no
  /// loop is decided yet.
  [[nodiscard]] LoopSets loops_left(std::size_t network, const LoopSets* of_node) const;
  /// Gives each node that was read from a file the tables of its point; nodes of one point and
  /// sharding share them.
  void attach_contexts(std::vector<OpenNodes<Node>::Entry>& entries) const;
  /// The tables of a point and an empty transposition table.  In a joint search all loops of the
  /// point are left.
  [[nodiscard]] std::shared_ptr<const FusionContext> open(OuterPoint point) const {
    return open(point, loops_left(point.network, nullptr));
  }
  /// Lower bound of every sharding and fusion of the point, found without its tables.
  [[nodiscard]] Score point_bound(OuterPoint point) const;
  /// Lower bound of every sharding and fusion of the point, before any branching in it, with the
  /// duals that the search has found.  Throws Stopped while it builds tables that were not kept.
  [[nodiscard]] Score root_bound(OuterPoint point) const;
  [[nodiscard]] Mapping mapping(const Solution& solution) const;
  /// The decisions of a mapping that the model allows but this problem does not search.
  [[nodiscard]] RuledOut ruled_out(const Mapping& mapping) const;
  /// The mapping as a solution; nothing if it does not fit, if some decision is not searched or if
  /// its parallelism is excluded.
  [[nodiscard]] std::optional<Solution> solution(const Mapping& mapping) const;

  /// Adds the counters of the problem: outer points, ideals, capacities.
  void add_stats(SearchStats& stats) const;

 private:
  using Sink = Expansion<Node, Solution>;

  MappingProblem(const MappingProblem& other, NodeEffort effort, std::vector<Parallelism> excluded);

  void branch_root(Sink& expansion) const;
  void branch_network(std::size_t network, Sink& expansion) const;
  void open_point(const Node& node, Sink& expansion) const;
  void open_fusion(const Node& node, LoopSets&& sharding, Sink& expansion) const;
  void offer_first(OuterPoint point, Sink& expansion) const;
  void offer_alone(OuterPoint point, Sink& expansion) const;
  void offer_segments(OuterPoint point, LoopSets sharding, Sink& expansion) const;
  void branch_sharding(const Node& node, LoopSets&& sharding, Sink& expansion) const;
  [[nodiscard]] std::optional<std::size_t> bound_lone_kernels(const LayerDecisions& decided,
                                                              const StepTime& step, Node& child,
                                                              Sink& expansion) const;
  [[nodiscard]] std::optional<RelaxedFusion> relax(const LayerDecisions& decisions,
                                                   const StepTime& step, Node& child,
                                                   const Sink& expansion) const;
  void offer(OuterPoint point, std::vector<LoopPair>&& sharding,
             std::vector<std::int64_t>&& partition, const Cost& cost, char found_by,
             Sink& expansion) const;
  void branch_fusion(const Node& node, Sink& expansion) const;
  void evaluate_kernel_by_kernel(const Node& node, std::vector<LoopPair>&& sharding, char found_by,
                                 Sink& expansion) const;
  [[nodiscard]] std::vector<std::int64_t> one_partition_per_kernel() const;
  [[nodiscard]] std::shared_ptr<const std::vector<Score>> known_bounds(std::size_t network) const;
  [[nodiscard]] std::shared_ptr<const std::vector<Score>> find_bounds(
      const std::vector<OuterPoint>& points) const;
  [[nodiscard]] bool holds_weights(OuterPoint point) const;
  [[nodiscard]] bool replaced_by_other_tiles(OuterPoint point) const;
  [[nodiscard]] LayerDecisions decisions(OuterPoint point, LoopSets sharding) const;
  [[nodiscard]] std::shared_ptr<const KernelOrder> order(const LoopSets& sharding) const;
  [[nodiscard]] SearchBounds bounds() const { return shared_->bounds; }
  [[nodiscard]] TableSettings settings() const {
    return {.bounds = bounds(), .cache = &shared_->core_options, .allowance = shared_->allowance};
  }
  [[nodiscard]] std::shared_ptr<const FusionContext> open(OuterPoint point,
                                                          LoopSets sharding) const;

  const Problem& problem_;
  const NodeEffort effort_;
  std::shared_ptr<Shared> shared_;
  const std::vector<NetworkChoice>& networks_;
  const std::vector<LoopPair>& sharding_;
  const std::vector<Parallelism> excluded_;
  // Counters to which any worker adds; relaxed, and read after the search.
  mutable std::atomic<std::int64_t> points_{0};
  mutable std::atomic<std::int64_t> points_opened_{0};
  mutable std::atomic<std::int64_t> cut_by_capacity_{0};
  mutable std::atomic<std::int64_t> cut_by_tiles_{0};
  mutable std::atomic<std::int64_t> cut_by_shardings_{0};
  mutable std::atomic<std::int64_t> ideals_{0};
};

}  // namespace dfsearch
