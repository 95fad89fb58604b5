// The fusions of one outer point and sharding: the empty one, what bounds it and offers mappings
// beforehand, and the branching of the others with the duals that are due.

#include <algorithm>
#include <utility>

#include "engine/fusion/segment_fusion.hpp"
#include "engine/mapping/mapping_problem.hpp"
#include "engine/tables/partition_rules.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kStepsWhenTight = 500;
// In smaller graphs the tree has a first mapping as soon.
constexpr std::size_t kManyKernels = 256;
// In a graph of so many kernels each child takes a while and most of them wait for ever.
constexpr std::size_t kLargeGraph = 512;
constexpr std::int64_t kStepsOfLargeGraph = 100;
// Of the best mapping: a point whose bound is below is not soon dropped.
constexpr double kFar = 63.0 / 64;
// At duals and at moves of a point whose kernels are mostly alike, before the branches below the first.
constexpr int kAttemptsOfAlike = 10;
constexpr int kMovesOfAlike = 2;
constexpr std::int64_t kNodesOfLongSearch = 20'000;
constexpr std::int64_t kLaterIfReached = 64;  // duals of a point without hope for a better mapping
constexpr double kClose = 1.0 - 1e-4;
constexpr std::int64_t kLaterIfClose = 8;  // moves where that little is left to prove

/// Raises the bound of all nodes of the point to the one that its duals prove of every fusion.
void raise_point_bound(const FusionContext& context, const PartitionDuals& duals) {
  if (context.proved_by.exchange(&duals, std::memory_order_relaxed) == &duals) return;
  const Ticks least = context.search.bound(context.search.root(), duals);
  Ticks known = context.proved.load(std::memory_order_relaxed);
  while (known < least &&
         !context.proved.compare_exchange_weak(known, least, std::memory_order_relaxed)) {
  }
}

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
    // What the first tier of memory holds is found, at less cost, at the point
    // without the second.
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
  const PartitionDuals* duals_;  // that bound the children
  mutable Score cutoff_{-1.0};   // what limit_ was computed for
  mutable Ticks limit_ = 0;
};

/// If it is better than the best mapping.
void offer_better(const MappingProblem::Node& node, const Fusion& fusion, char found_by,
                  Expansion<MappingProblem::Node, MappingSolution>& expansion) {
  Adapter adapter(node, expansion, found_by);
  if (fusion.time < adapter.limit()) adapter.complete(Fusion(fusion));
}

/// Puts a node from before these duals back into the queue if its bound is higher now.
bool requeue_if_tighter(const MappingProblem::Node& node, const PartitionDuals& duals,
                        Expansion<MappingProblem::Node, MappingSolution>& expansion) {
  if (&duals == node.fusion.duals) return false;
  FusionNode again = node.fusion;
  const FusionTree& search = node.context->search;
  const auto is_later = [&] { return node.context->score(again.bound) > node.bound; };
  // The bound of the ideal alone takes a sum: it is enough for most of thousands of nodes.
  again.bound = search.bound(node.fusion, duals);
  if (!is_later()) again.bound = search.bound_anew(node.fusion, &duals);
  if (!is_later()) return false;
  Adapter(node, expansion, 'T', &duals).child(std::move(again));
  return true;
}

/// Uses new duals of the point, or null.  True if the node was put back into the queue.
bool apply_duals(const MappingProblem::Node& node, const PartitionDuals* duals,
                 Expansion<MappingProblem::Node, MappingSolution>& expansion) {
  if (duals == nullptr) return false;
  raise_point_bound(*node.context, *duals);
  return requeue_if_tighter(node, *duals, expansion);
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
             .least_used = node.least_used,
             .context = std::move(context),
             .fusion = std::move(empty)};
  if (bounds().use(SearchBound::Segments) && child.bound <= expansion.cutoff()) {
    Adapter adapter(child, expansion, 'S');
    auto segments = best_segments(child.context->tables);
    if (segments && segments->time <= adapter.limit()) adapter.complete(std::move(*segments));
  }
  expansion.child(std::move(child));
}

/// As long as a search over a large graph, or over shardings, has no mapping at all: the best segments
/// of the point, with the sharding of least bytes, before points are bounded and loops are searched,
/// which takes long there.
void MappingProblem::offer_first(OuterPoint point, Sink& expansion) const {
  if (first_of_best_ || expansion.cutoff() < Score::infinity()) return;
  if (problem_.execution.style == Style::KernelByKernel || !bounds().use(SearchBound::Segments)) {
    return;
  }
  if (problem_.workload.graph.kernel_count() < kManyKernels && !shared_->space) return;
  Node node;
  node.point = point;
  node.context = open(point, loop_sets(sharding_));
  if (overfull(node.context->tables)) return;
  auto segments = best_segments(node.context->tables);
  if (segments) Adapter(node, expansion, 'S').complete(std::move(*segments));
}

/// Whether the kernels of the point are mostly alike and it is far from being dropped.  Its next duals
/// come before its next branch then: they take no longer than some nodes, and most points are dropped
/// by them.  Not yet for the empty fusion, whose first branch may show that other points come first.
bool MappingProblem::is_far_among_alike(const Node& node, const Sink& expansion) const {
  const Score cutoff = expansion.cutoff();
  if (first_of_best_ || cutoff == Score::infinity() || !(node.bound < cutoff * kFar)) return false;
  if (!node.fusion.closed && !node.fusion.opened) return false;
  return node.context->point->duals.are_alike();
}

void MappingProblem::branch_fusion(const Node& node, Sink& expansion) const {
  if (!node.fusion.opened && node.context->transpositions.superseded(node.fusion)) return;
  // A point whose first bound is the cutoff already is hardly ever rid of nodes by duals.
  const bool is_reached = !(node.context->score(node.context->root_bound) < expansion.cutoff());
  const std::int64_t before = effort_.nodes_before_duals * (is_reached ? kLaterIfReached : 1);
  const std::atomic<std::int64_t>& nodes = node.context->admitted;
  const std::int64_t steps_of_moves =
      node.context->point->improvement.steps_of(moves_due(node, 0, expansion));
  const int due = LazyDuals::attempts_due(nodes.load(std::memory_order_relaxed), before,
                                          node.context->tables.size(), steps_of_moves);
  LazyDuals& duals = node.context->point->duals;
  // What is known depends on how far other threads are, so a reproducible search does without.
  const bool waits = expansion.is_reproducible();
  LazyDuals::Found found = waits ? LazyDuals::Found{} : duals.known();
  // There may be many nodes from before these duals: none of them waits for moves.
  if (apply_duals(node, found.duals, expansion)) return;
  const bool is_far = is_far_among_alike(node, expansion);
  if (is_far) {
    const PartitionDuals* last = found.duals != nullptr ? found.duals : node.fusion.duals;
    if (last != nullptr) improve(node, kMovesOfAlike, expansion);
    if (apply_duals(node, duals.next(last, kAttemptsOfAlike, waits), expansion)) return;
  }
  // There the attempts come before moves: how many moves are due depends on whether they end early.
  if (waits) found = duals.after(due);
  if (waits && apply_duals(node, found.duals, expansion)) return;
  node.context->branched.fetch_add(1, std::memory_order_relaxed);
  if (!node.fusion.opened) ideals_.fetch_add(1, std::memory_order_relaxed);
  improve(node, moves_due(node, is_far ? 0 : duals.steps_of(due), expansion), expansion);
  if (!waits) {
    if (duals.is_overdue(nodes)) rest(node, expansion);
    duals.help();
    const LazyDuals::Found now = duals.when_due(nodes, before, steps_of_moves);
    if (!(now == found) && apply_duals(node, now.duals, expansion)) return;
    found = now;
  }
  Adapter adapter(node, expansion, 'T', found.duals);
  // Where memory is tight a node leaves fewer others behind; so it does in a long search, where
  // what is best to look at next has changed before a long enumeration is over.
  const bool few = shared_->allowance.is_tight() ||
                   node.context->admitted.load(std::memory_order_relaxed) > kNodesOfLongSearch;
  const bool is_large = node.context->tables.size() >= kLargeGraph;
  const std::int64_t steps = std::min(effort_.steps, is_large ? kStepsOfLargeGraph
                                                     : few    ? kStepsWhenTight
                                                              : effort_.steps);
  const std::int64_t cut = node.context->search.branch(node.fusion, steps, adapter, found.duals);
  cut_by_capacity_.fetch_add(cut, std::memory_order_relaxed);
}

/// How many attempts at moves are due after the nodes of the point and so many steps for its duals.
int MappingProblem::moves_due(const Node& node, std::int64_t steps_of_duals,
                              const Sink& expansion) const {
  if (first_of_best_) return 0;
  const FusionContext& context = *node.context;
  // So close to the proof the tree is done before moves have cooled down.
  const bool is_close = !(node.bound < expansion.cutoff() * kClose);
  const std::int64_t branched = context.branched_before.load(std::memory_order_relaxed);
  return context.point->improvement.attempts_due(context.admitted.load(std::memory_order_relaxed),
                                                 is_close ? branched / kLaterIfClose : branched,
                                                 is_close ? 0 : steps_of_duals);
}

/// Offers what so many attempts at moves make of the first fusion of the point.
void MappingProblem::improve(const Node& node, int attempts, Sink& expansion) const {
  const auto make =
      expansion.is_reproducible() ? LazyImprovement::Make::Wait : LazyImprovement::Make::TryNow;
  const auto better = node.context->point->improvement.after(attempts, make);
  if (better) offer_better(node, *better, 'M', expansion);
}

/// While another thread looks for the duals of the point: part of that and better mappings in turn, or
/// only that if a third one is at these.  Nodes that the proof does not need would take room and
/// slow the other thread.
void MappingProblem::rest(const Node& node, Sink& expansion) const {
  LazyDuals& duals = node.context->point->duals;
  duals.help_soon();
  if (const auto better = node.context->point->improvement.go_on()) {
    offer_better(node, *better, 'M', expansion);
  } else {
    duals.help_to_the_end();
  }
}

}  // namespace dfsearch
