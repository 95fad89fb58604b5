// The nodes of the tree above the fusion: their meaning and order, and the tables of an outer
// point, which all its nodes share.  Their branching is in mapping_problem_branch.cpp.

#include "engine/mapping/mapping_problem.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "engine/mapping/tile_dominance.hpp"
#include "engine/tables/symmetry.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/layer/sharding.hpp"
#include "model/scope.hpp"

namespace dfsearch {
namespace {

// Limit on the kernels of all tables that are kept for later trees over the same problem; these
// tables take some ten megabytes.
constexpr std::size_t kKernelsKept = 20'000;

/// The sharding that a joint search tries first: the sharding of least bytes, or the first of all
/// if the search for it would take too long.
std::vector<LoopPair> first_tried(const Problem& problem, const LoopSets& all,
                                  const Deadline& deadline) {
  try {
    return least_bytes_sharding(problem, deadline);
  } catch (const InputError&) {
    return first_sharding(all);
  }
}

}  // namespace

FusionContext::FusionContext(std::shared_ptr<PointTables> its_point, const StepTime& its_step)
    : point(std::move(its_point)),
      tables(point->fusion),
      search(tables),
      root_bound(search.root().bound),
      first_sharding(dfsearch::first_sharding(tables.decisions().sharding)),
      step(its_step),
      transpositions(search, tables.bounds(), tables.allowance()) {
  if (const PartitionDuals* duals = point->duals.known()) learn(*duals);
}

void FusionContext::learn(const PartitionDuals& duals) const {
  const Ticks least = search.bound(search.root(), duals);
  Ticks known = proved.load(std::memory_order_relaxed);
  while (known < least && !proved.compare_exchange_weak(known, least, std::memory_order_relaxed)) {
  }
}

Ticks ticks_within(const Clock& clock, const StepTime& step, Score limit) {
  if (limit == Score::infinity()) return kNever - 1;
  // Bisection, since the quotient (limit - transfer) / factor is inexact: if the transfer is long,
  // many numbers of ticks have the same score, and the quotient may be off by as many.
  Ticks most = -1;  // the greatest number of ticks known to be within the limit; -1: none
  Ticks above = kNever;
  while (above - most > 1) {
    const Ticks middle = most + (above - most) / 2;
    (step.score(clock.seconds(middle)) <= limit ? most : above) = middle;
  }
  return most;
}

MappingProblem::Shared::Shared(const Problem& problem, SearchBounds its_bounds,
                               const Allowance& its_allowance)
    : bounds(its_bounds),
      allowance(its_allowance),
      networks(network_choices(problem, allowance.deadline)),
      sharding_matters(dfsearch::sharding_matters(problem, networks)),
      floor(bounds.use(SearchBound::Point) ? least_score(problem, networks, allowance.deadline)
                                           : Score{}) {
  const Deadline& deadline = allowance.deadline;
  if (problem.sharding == ShardingChoice::Joint) {
    space.emplace(problem, bounds, deadline);
    sharding = sharding_matters ? first_tried(problem, space->all(), deadline)
                                : first_sharding(space->all());
    if (!sharding_matters) space.reset();
  } else {
    sharding = least_bytes_sharding(problem, deadline);
  }
  if (bounds.use(SearchBound::Tiles) && can_compare_tiles(problem)) {
    replacing_tiles = dfsearch::replacing_tiles(problem);
  }
}

MappingProblem::MappingProblem(const Problem& problem, NodeEffort effort, SearchBounds bounds,
                               const Allowance& allowance)
    : problem_(problem),
      effort_(effort),
      shared_(std::make_shared<Shared>(problem, bounds, allowance)),
      networks_(shared_->networks),
      sharding_(shared_->sharding) {}

MappingProblem::MappingProblem(const MappingProblem& other, NodeEffort effort,
                               std::vector<Parallelism> excluded)
    : problem_(other.problem_),
      effort_(effort),
      shared_(other.shared_),
      networks_(shared_->networks),
      sharding_(shared_->sharding),
      excluded_(std::move(excluded)) {}

MappingProblem MappingProblem::without(std::vector<Parallelism> excluded, NodeEffort effort) const {
  return {*this, effort, std::move(excluded)};
}

bool MappingProblem::excludes(const NetworkChoice& network) const {
  return std::find(excluded_.begin(), excluded_.end(), parallelism_of(network)) != excluded_.end();
}

void MappingProblem::attach_contexts(std::vector<OpenNodes<Node>::Entry>& entries) const {
  std::map<std::pair<OuterPoint, LoopSets>, std::shared_ptr<const FusionContext>> contexts;
  for (auto& entry : entries) {
    Node& node = entry.node;
    // Before its fusion begins, a node has no set of done kernels, not even an empty one.
    if (!node.point || node.fusion.done.end() == 0) continue;
    LoopSets sharding = loops_left(node.point->network, node.sharding.get());
    auto& context = contexts[{*node.point, sharding}];
    if (!context) context = open(*node.point, std::move(sharding));
    node.context = context;
    node.sharding = nullptr;
  }
}

LoopSets MappingProblem::loops_left(std::size_t network, const LoopSets* of_node) const {
  if (of_node != nullptr) return *of_node;
  if (!shared_->space) return loop_sets(sharding_);
  LoopSets all = shared_->space->all();
  for (LoopSet& pairs : all) pairs = pairs_along(pairs, networks_[network]);
  return all;
}

LayerDecisions MappingProblem::decisions(OuterPoint point, LoopSets sharding) const {
  return {.network = networks_[point.network],
          .sharding = std::move(sharding),
          .micro_batch = point.micro_batch,
          .tile = point.tile,
          .spilled = point.spilled};
}

/// The order of the kernels, with the exchanges that leave these loops as they are.  The order that
/// all nodes share is made on first use, since its sets of descendants take n^2 bits.
std::shared_ptr<const KernelOrder> MappingProblem::order(const LoopSets& sharding) const {
  const auto make = [this](const LoopSets& loops) {
    std::vector<Exchange> exchanges;
    const Deadline& deadline = shared_->allowance.deadline;
    if (bounds().use(SearchBound::Symmetry)) exchanges = find_exchanges(problem_, loops, deadline);
    return std::make_shared<const KernelOrder>(problem_.workload.graph, exchanges, deadline);
  };
  if (shared_->space && shared_->space->has_symmetry()) return make(sharding);
  const std::lock_guard lock(shared_->order_mutex);
  if (!shared_->order) {
    shared_->order = make(shared_->space ? shared_->space->all() : loop_sets(sharding_));
    shared_->order_memory = shared_->allowance.charge(shared_->order->heap_bytes());
  }
  return shared_->order;
}

std::shared_ptr<const FusionContext> MappingProblem::open(OuterPoint point,
                                                          LoopSets sharding) const {
  LayerDecisions decided = decisions(point, std::move(sharding));
  const StepTime step = step_time(problem_, decided.network, decided.micro_batch);
  const bool keep = !shared_->space;
  if (keep) {
    const std::lock_guard lock(shared_->mutex);
    const auto found = shared_->tables.find(point);
    if (found != shared_->tables.end()) {
      return std::make_shared<const FusionContext>(found->second, step);
    }
  }
  auto kernel_order = order(decided.sharding);
  auto tables = std::make_shared<PointTables>(problem_, std::move(decided), std::move(kernel_order),
                                              settings());
  if (keep) {
    const std::lock_guard lock(shared_->mutex);
    if ((shared_->tables.size() + 1) * tables->fusion.size() <= kKernelsKept &&
        !shared_->allowance.is_tight()) {
      shared_->tables.emplace(point, tables);
    }
  }
  return std::make_shared<const FusionContext>(std::move(tables), step);
}

Score MappingProblem::root_bound(OuterPoint point) const {
  Score bound = point_bound(point);
  if (problem_.execution.style == Style::KernelByKernel) return bound;
  const std::shared_ptr<const FusionContext> context = open(point);
  const FusionNode root = context->search.root();
  bound = std::max(bound, context->score(root.bound));
  return std::max(bound, context->score(context->proved.load(std::memory_order_relaxed)));
}

bool MappingProblem::admit(const Node& node) const {
  if (!node.context) return true;
  const FusionContext& context = *node.context;
  context.admitted.fetch_add(1, std::memory_order_relaxed);
  if (node.fusion.opened) return true;
  return context.transpositions.admit(node.fusion);
}

bool MappingProblem::contains(const Node& node, const Solution& solution) const {
  if (node.network) return *node.network == solution.point.network;
  if (!node.point) return true;
  if (*node.point != solution.point) return false;
  const LoopSets left = node.context ? node.context->tables.decisions().sharding
                                     : loops_left(node.point->network, node.sharding.get());
  for (std::size_t k = 0; k < left.size(); ++k) {
    if (!left[k].contains(solution.sharding[k])) return false;
  }
  return !node.context || node.context->search.contains(node.fusion, solution.fusion);
}

std::size_t MappingProblem::heap_bytes(const Node& node) const {
  std::size_t bytes = node.fusion.done.heap_bytes();
  if (node.sharding) bytes += node.sharding->size() * sizeof(LoopSet) + 2 * kAllocation;
  if (node.fusion.opened) {
    // The decisions before the last are mostly shared.
    bytes += sizeof(FusionNode::Opened) + sizeof(Decision) + 4 * kAllocation;
  }
  return bytes;
}

Mapping MappingProblem::mapping(const Solution& solution) const {
  return {.network = networks_[solution.point.network],
          .micro_batch = solution.point.micro_batch,
          .tile = solution.point.tile,
          .sharding = solution.sharding,
          .partition = solution.fusion.partition,
          .cores = {}};
}

RuledOut MappingProblem::ruled_out(const Mapping& mapping) const {
  if (std::find(networks_.begin(), networks_.end(), mapping.network) == networks_.end()) {
    return {not_searched::kNetwork};
  }
  const bool is_other = !shared_->space && mapping.sharding != sharding_;
  if (is_other && shared_->sharding_matters) return {not_searched::kSharding};
  return {};
}

std::optional<MappingSolution> MappingProblem::solution(const Mapping& mapping) const {
  if (!ruled_out(mapping).empty() || excludes(mapping.network)) return std::nullopt;
  const auto network = std::find(networks_.begin(), networks_.end(), mapping.network);
  Mapping without_cores = mapping;
  without_cores.cores.clear();
  if (!shared_->space) without_cores.sharding = sharding_;
  const auto result = evaluate(problem_, without_cores);
  const Cost* cost = std::get_if<Cost>(&result);
  if (cost == nullptr) return std::nullopt;
  return MappingSolution{.cost = cost->objective,
                         .point = {.network = static_cast<std::size_t>(network - networks_.begin()),
                                   .tile = mapping.tile,
                                   .micro_batch = mapping.micro_batch,
                                   .spilled = cost->spilled},
                         .sharding = without_cores.sharding,
                         .fusion = {.time = cost->layer_ticks, .partition = mapping.partition}};
}

void MappingProblem::add_stats(SearchStats& stats) const {
  stats.outer_points = points_.load(std::memory_order_relaxed);
  stats.outer_points_opened = points_opened_.load(std::memory_order_relaxed);
  stats.pruned_by_capacity = cut_by_capacity_.load(std::memory_order_relaxed);
  stats.pruned_by_tiles = cut_by_tiles_.load(std::memory_order_relaxed);
  stats.pruned_by_shardings = cut_by_shardings_.load(std::memory_order_relaxed);
  stats.ideals = ideals_.load(std::memory_order_relaxed);
}

}  // namespace dfsearch
