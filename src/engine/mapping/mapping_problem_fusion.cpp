// The fusions of one outer point and sharding: the empty fusion with its bounds and first mappings,
// the branching of fusions, and the slices of duals and moves beside the tree.

#include <algorithm>
#include <utility>

#include "engine/fusion/segment_fusion.hpp"
#include "engine/mapping/mapping_problem.hpp"
#include "engine/tables/partition_rules.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kStepsWhenTight = 500;
constexpr std::int64_t kNodesOfLongSearch = 20'000;
// In graphs with fewer kernels the tree itself finds a first mapping as quickly.
constexpr std::size_t kManyKernels = 256;
// In graphs with at least this number of kernels a child takes long, and most children are never
// expanded.
constexpr std::size_t kLargeGraph = 512;
constexpr std::int64_t kStepsOfLargeGraph = 100;

/// Turns the fusion's children into nodes of the whole tree.
class Adapter final : public FusionSink {
 public:
  Adapter(const MappingProblem::Node& node,
          Expansion<MappingProblem::Node, MappingSolution>& expansion, char found_by,
          const PartitionDuals* duals = nullptr)
      : node_(node),
        context_(*node.context),
        expansion_(expansion),
        found_by_(found_by),
        duals_(duals) {}

  [[nodiscard]] Ticks limit() const override {
    const Score cutoff = expansion_.cutoff();
    if (!(cutoff == cutoff_)) {
      cutoff_ = cutoff;
      limit_ = ticks_within(context_.tables.clock(), context_.step, cutoff);
    }
    return limit_;
  }
  void child(FusionNode&& fusion) override {
    const Score bound = std::max(node_.bound, context_.score(fusion.bound));
    fusion.duals = duals_;
    expansion_.child({.bound = bound,
                      .network = std::nullopt,
                      .point = node_.point,
                      .sharding = nullptr,
                      .context = node_.context,
                      .fusion = std::move(fusion)});
  }
  void complete(Fusion&& fusion) override {
    // A fusion that needs only the first tier of memory also belongs to the point that does not
    // spill, where it costs less.
    if (node_.point->spilled && !context_.tables.spills(fusion.partition)) return;
    const Score cost = context_.score(fusion.time);
    expansion_.solution({.cost = cost,
                         .point = *node_.point,
                         .sharding = context_.first_sharding,
                         .fusion = std::move(fusion)},
                        found_by_);
  }

 private:
  const MappingProblem::Node& node_;
  const FusionContext& context_;
  Expansion<MappingProblem::Node, MappingSolution>& expansion_;
  char found_by_;
  const PartitionDuals* duals_;  // the duals that bound the children, or null
  mutable Score cutoff_{-1.0};   // the cutoff that limit_ belongs to
  mutable Ticks limit_ = 0;
};

/// If the node was bounded without these duals and they raise its bound, puts it back into the
/// queue and returns true.
bool requeue_if_tighter(const MappingProblem::Node& node, const PartitionDuals& duals,
                        Expansion<MappingProblem::Node, MappingSolution>& expansion) {
  if (&duals == node.fusion.duals) return false;
  FusionNode again = node.fusion;
  const FusionTree& search = node.context->search;
  const auto is_later = [&] { return node.context->score(again.bound) > node.bound; };
  // The bound of the ideal alone is one sum, and it suffices for most nodes.
  again.bound = search.bound(node.fusion, duals);
  if (!is_later()) again.bound = search.bound_anew(node.fusion, &duals);
  if (!is_later()) return false;
  Adapter(node, expansion, 'T', &duals).child(std::move(again));
  return true;
}

}  // namespace

bool overfull(const FusionTables& tables) {
  if (tables.capacity_for_activations() < Bytes{}) return true;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    if (tables.kernel(p).lonely && !tables.kernel(p).escapes) return true;
  }
  return false;
}

void MappingProblem::open_fusion(const Node& node, LoopSets&& sharding, Sink& expansion) const {
  std::shared_ptr<const FusionContext> context = open(*node.point, std::move(sharding));
  const FusionTables& tables = context->tables;
  if (overfull(tables)) return;
  const PartitionRules rules(tables);
  FusionNode empty = context->search.root();
  if (tables.least_partitions(context->search.rest(empty)) > rules.most()) {
    cut_by_capacity_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  Node child{.bound = std::max(node.bound, context->score(empty.bound)),
             .network = std::nullopt,
             .point = node.point,
             .sharding = nullptr,
             .context = std::move(context),
             .fusion = std::move(empty)};
  if (bounds().use(SearchBound::Segments) && child.bound <= expansion.cutoff()) {
    Adapter adapter(child, expansion, 'S');
    auto segments = best_segments(child.context->tables);
    if (segments && segments->time <= adapter.limit()) adapter.complete(std::move(*segments));
  }
  expansion.child(std::move(child));
}

/// If a search over a large graph or over shardings has no mapping yet, offers two mappings of the
/// point with the first sharding: every kernel alone, and the best segments.  Such a search takes
/// long to bound points or to decide loops.
void MappingProblem::offer_first(OuterPoint point, Sink& expansion) const {
  if (expansion.cutoff() < Score::infinity()) return;
  if (problem_.execution.style == Style::KernelByKernel || !bounds().use(SearchBound::Segments)) {
    return;
  }
  if (problem_.workload.graph.kernel_count() < kManyKernels && !shared_->space) return;
  offer_alone(point, expansion);
  offer_segments(point, loop_sets(sharding_), expansion);
}

/// Offers the mapping with every kernel in a partition of its own, which needs no tables.
void MappingProblem::offer_alone(OuterPoint point, Sink& expansion) const {
  Fusion alone{.time = 0, .partition = one_partition_per_kernel()};
  MappingSolution one{
      .cost = {}, .point = point, .sharding = sharding_, .fusion = std::move(alone)};
  const auto result = evaluate(problem_, mapping(one));
  const Cost* cost = std::get_if<Cost>(&result);
  if (cost == nullptr || cost->spilled != point.spilled) return;
  offer(point, std::move(one.sharding), std::move(one.fusion.partition), *cost, 'S', expansion);
}

void MappingProblem::offer_segments(OuterPoint point, LoopSets sharding, Sink& expansion) const {
  Node node;
  node.point = point;
  node.context = open(point, std::move(sharding));
  if (overfull(node.context->tables)) return;
  auto segments = best_segments(node.context->tables);
  Adapter adapter(node, expansion, 'S');
  if (segments && segments->time <= adapter.limit()) adapter.complete(std::move(*segments));
}

void MappingProblem::branch_fusion(const Node& node, Sink& expansion) const {
  const FusionContext& context = *node.context;
  if (!node.fusion.opened && context.transpositions.superseded(node.fusion)) return;
  const PartitionDuals* duals = context.point->duals.known();
  if (duals != nullptr && requeue_if_tighter(node, *duals, expansion)) return;
  if (!node.fusion.opened) ideals_.fetch_add(1, std::memory_order_relaxed);
  Adapter adapter(node, expansion, 'T', duals);
  // A node emits fewer children if memory is tight, and also in a long search: there, another node
  // is the best by the time that a long enumeration ends.
  const bool few = shared_->allowance.is_tight() ||
                   context.admitted.load(std::memory_order_relaxed) > kNodesOfLongSearch;
  const bool is_large = context.tables.size() >= kLargeGraph;
  const std::int64_t steps = std::min(effort_.steps, is_large ? kStepsOfLargeGraph
                                                     : few    ? kStepsWhenTight
                                                              : effort_.steps);
  const FusionTree::Branched branched = context.search.branch(node.fusion, steps, adapter, duals);
  cut_by_capacity_.fetch_add(branched.cut, std::memory_order_relaxed);
  context.point->used.fetch_add(branched.work * effort_.weight, std::memory_order_relaxed);
}

void MappingProblem::claim_slices(const Node& node, std::vector<Slice>& slices) const {
  if (!node.context) return;
  PointTables& point = *node.context->point;
  const Work used = point.used.load(std::memory_order_relaxed);
  const auto add = [&](Technique technique, Work work) {
    if (work > 0) {
      slices.push_back(
          {.context = node.context, .point = *node.point, .technique = technique, .work = work});
    }
  };
  add(Technique::Duals, point.duals.claim(used));
  add(Technique::Moves, point.moves.claim(used));
}

void MappingProblem::run(const Slice& slice, Sink& expansion) const {
  PointTables& point = *slice.context->point;
  if (slice.technique == Technique::Duals) {
    point.duals.run(slice.work);
    return;
  }
  auto better = point.moves.run(slice.work);
  if (!better) return;
  Node node;
  node.point = slice.point;
  node.context = slice.context;
  Adapter adapter(node, expansion, 'M');
  if (better->time < adapter.limit()) adapter.complete(std::move(*better));
}

void MappingProblem::publish(const Slice& slice) const {
  PointTables& point = *slice.context->point;
  if (slice.technique == Technique::Moves) {
    point.moves.publish();
    return;
  }
  point.duals.publish();
  if (const PartitionDuals* duals = point.duals.known()) slice.context->learn(*duals);
}

}  // namespace dfsearch
