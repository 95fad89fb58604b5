// The tree above the fusion.
//
// root -> one node per outer point, each with a closed-form bound that needs no
// graph work beyond a sum over kernels -> the empty fusion of the point, once its
// tables are built -> fusions.  All of them share one queue and one incumbent, so
// a point is only opened while its bound is the least of all, and a good mapping
// of one point prunes the others.

#include "engine/mapping_search.hpp"

#include <algorithm>
#include <utility>

#include "engine/segment_fusion.hpp"
#include "engine/symmetry.hpp"
#include "model/layer_costs.hpp"
#include "model/sharding.hpp"

namespace dfsearch {
namespace {

// Kernels of all the tables that are kept for a second tree over the same
// problem: some ten megabytes.
constexpr std::size_t kKernelsKept = 20'000;

/// Turns the fusion's children into nodes of the whole tree.
class Adapter final : public FusionSink {
 public:
  Adapter(const MappingProblem::Node& node,
          Expansion<MappingProblem::Node, MappingSolution>& expansion, char found_by)
      : node_(node), context_(*node.context), expansion_(expansion), found_by_(found_by) {}

  [[nodiscard]] Ticks limit() const override {
    const Seconds cutoff = expansion_.cutoff();
    if (!(cutoff == cutoff_)) {
      cutoff_ = cutoff;
      limit_ = context_.ticks_within(cutoff);
    }
    return limit_;
  }
  void child(FusionNode&& fusion) override {
    const Seconds bound = std::max(node_.bound, context_.step_time(fusion.bound));
    expansion_.child({.bound = bound,
                      .point = node_.point,
                      .context = node_.context,
                      .fusion = std::move(fusion)});
  }
  void complete(Fusion&& fusion) override {
    const Seconds cost = context_.step_time(fusion.time);
    expansion_.solution({.cost = cost, .point = *node_.point, .fusion = std::move(fusion)},
                        found_by_);
  }

 private:
  const MappingProblem::Node& node_;
  const FusionContext& context_;
  Expansion<MappingProblem::Node, MappingSolution>& expansion_;
  char found_by_;
  mutable Seconds cutoff_{-1.0};  // what limit_ was computed for
  mutable Ticks limit_ = 0;
};

}  // namespace

FusionContext::FusionContext(std::shared_ptr<const FusionTables> its_tables,
                             const StepTime& its_step)
    : shared_tables(std::move(its_tables)),
      tables(*shared_tables),
      search(tables),
      step(its_step),
      transpositions(search) {}

Ticks FusionContext::ticks_within(Seconds limit) const {
  if (limit == Seconds::infinity()) return kNever - 1;
  // By bisection: beside a long transfer step_time is flat over many ticks, and
  // the quotient (limit - transfer) / factor is off by as many.
  Ticks most = -1;  // step_time(most) <= limit, or none is
  Ticks above = kNever;
  while (above - most > 1) {
    const Ticks middle = most + (above - most) / 2;
    (step_time(middle) <= limit ? most : above) = middle;
  }
  return most;
}

MappingProblem::MappingProblem(const Problem& problem, std::int64_t steps_per_node)
    : problem_(problem),
      steps_per_node_(steps_per_node),
      shared_(std::make_shared<Shared>()),
      networks_(shared_->networks),
      sharding_(shared_->sharding) {
  shared_->networks = network_choices(problem);
  shared_->sharding = least_bytes_sharding(problem);
  shared_->order = std::make_shared<const KernelOrder>(problem.workload.graph,
                                                       symmetry_order(problem, sharding_));
}

MappingProblem::MappingProblem(const MappingProblem& other, std::int64_t steps_per_node)
    : problem_(other.problem_),
      steps_per_node_(steps_per_node),
      shared_(other.shared_),
      networks_(shared_->networks),
      sharding_(shared_->sharding) {}

std::shared_ptr<const FusionContext> MappingProblem::open(OuterPoint point) const {
  const LayerDecisions decided = decisions(point);
  const StepTime step = step_time(problem_, decided.network, decided.micro_batch);
  {
    const std::lock_guard lock(shared_->mutex);
    const auto found = shared_->tables.find(point);
    if (found != shared_->tables.end()) {
      return std::make_shared<const FusionContext>(found->second, step);
    }
  }
  auto tables = std::make_shared<const FusionTables>(problem_, decided, shared_->order);
  const std::lock_guard lock(shared_->mutex);
  if ((shared_->tables.size() + 1) * tables->size() <= kKernelsKept) {
    shared_->tables.emplace(point, tables);
  }
  return std::make_shared<const FusionContext>(std::move(tables), step);
}

LayerDecisions MappingProblem::decisions(OuterPoint point) const {
  return {.network = networks_[point.network],
          .sharding = sharding_,
          .micro_batch = point.micro_batch,
          .tile = point.tile};
}

bool MappingProblem::precedes(const Solution& a, const Solution& b) const {
  return dfsearch::precedes(mapping(a), mapping(b));
}

bool MappingProblem::before(const Node& node, const Solution& solution) const {
  if (!node.point) return true;
  if (node.point->network != solution.point.network) {
    return node.point->network < solution.point.network;
  }
  if (node.point->tile != solution.point.tile) return node.point->tile > solution.point.tile;
  if (node.point->micro_batch != solution.point.micro_batch) {
    return node.point->micro_batch < solution.point.micro_batch;
  }
  return !node.context || node.context->search.may_precede(node.fusion, solution.fusion);
}

bool MappingProblem::admit(const Node& node) const {
  if (!node.context || node.fusion.opened) return true;
  return node.context->transpositions.admit(node.fusion);
}

void MappingProblem::branch(const Node& node, Sink& expansion) const {
  if (!node.point) {
    branch_root(expansion);
  } else if (problem_.execution.style == Style::KernelByKernel) {
    evaluate_kernel_by_kernel(node, expansion);
  } else if (!node.context) {
    open_point(node, expansion);
  } else {
    branch_fusion(node, expansion);
  }
}

void MappingProblem::branch_root(Sink& expansion) const {
  std::vector<OuterPoint> points = outer_points(problem_, networks_.size());
  points_.store(static_cast<std::int64_t>(points.size()), std::memory_order_relaxed);
  // Among equal bounds the queue takes the newest: the first in the order of ties.
  std::reverse(points.begin(), points.end());
  for (const OuterPoint point : points) {
    expansion.child(
        {.bound = point_bound(point), .point = point, .context = nullptr, .fusion = {}});
  }
}

/// The compute and network time that every fusion of the point takes.
Seconds MappingProblem::point_bound(OuterPoint point) const {
  const DataflowGraph& graph = problem_.workload.graph;
  const Accelerator& chip = problem_.system.accelerator;
  const NetworkChoice& network = networks_[point.network];
  const Collectives tensor(problem_.system, network, Strategy::Tensor, problem_.equations);
  const Collectives data(problem_.system, network, Strategy::Data, problem_.equations);
  const StepTime step = step_time(problem_, network, point.micro_batch);
  const std::int64_t tiles = tile_count(problem_.workload, point.tile);
  const NetworkContext context{.problem = problem_,
                               .tensor = tensor,
                               .data = data,
                               .tiles = tiles,
                               .micro_batches = step.micro_batches};
  Seconds compute{};
  Seconds communication{};
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    const Kernel& kernel = graph.kernels()[i];
    const Shard shard = shard_of(kernel, sharding_[i], tensor.members(), tiles);
    if (const auto utilization = problem_.execution.compute_utilization) {
      compute += tile_flops(kernel, shard) / (*utilization * chip.peak());
    } else {
      // No allocation spends fewer core-cycles than a single core.
      compute += static_cast<double>(cycles(kernel, shard, chip, {})) /
                 static_cast<double>(chip.cores) / chip.frequency;
    }
    communication += network_time(context, KernelId(i), sharding_);
  }
  compute = compute * static_cast<double>(tiles);
  Seconds layer = std::max(compute, communication);
  if (problem_.execution.overlap != Overlap::Perfect) layer = compute + communication;
  // Durations are rounded up to ticks, these sums to nearest: the margin covers
  // the rounding of 2^12 additions.
  return step.step(layer * (1.0 - 0x1p-40));
}

void MappingProblem::open_point(const Node& node, Sink& expansion) const {
  points_opened_.fetch_add(1, std::memory_order_relaxed);
  std::shared_ptr<const FusionContext> context = open(*node.point);
  const FusionTables& tables = context->tables;
  if (tables.capacity_for_activations() < Bytes{}) return;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    if (tables.kernel(p).lonely && !tables.kernel(p).escapes) return;
  }
  const PartitionRules rules(tables);
  FusionNode empty = context->search.root();
  if (tables.least_partitions(context->search.rest(empty)) > rules.limit()) {
    cut_by_capacity_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  Node child{.bound = std::max(node.bound, context->step_time(empty.bound)),
             .point = node.point,
             .context = std::move(context),
             .fusion = std::move(empty)};
  if (child.bound <= expansion.cutoff()) {
    Adapter adapter(child, expansion, 'S');
    auto segments = best_segments(child.context->tables);
    if (segments && segments->time <= adapter.limit()) adapter.complete(std::move(*segments));
  }
  expansion.child(std::move(child));
}

void MappingProblem::branch_fusion(const Node& node, Sink& expansion) const {
  if (!node.fusion.opened && node.context->transpositions.superseded(node.fusion)) return;
  if (!node.fusion.opened) ideals_.fetch_add(1, std::memory_order_relaxed);
  Adapter adapter(node, expansion, 'T');
  const std::int64_t cut = node.context->search.branch(node.fusion, steps_per_node_, adapter);
  cut_by_capacity_.fetch_add(cut, std::memory_order_relaxed);
}

/// The fusion is given: one partition per kernel in topological order.
void MappingProblem::evaluate_kernel_by_kernel(const Node& node, Sink& expansion) const {
  points_opened_.fetch_add(1, std::memory_order_relaxed);
  const DataflowGraph& graph = problem_.workload.graph;
  Solution solution{.cost = {}, .point = *node.point, .fusion = {}};
  solution.fusion.partition.resize(graph.kernel_count());
  for (std::size_t p = 0; p < graph.kernel_count(); ++p) {
    solution.fusion.partition[graph.topological_order()[p].index()] = static_cast<std::int64_t>(p);
  }
  solution.fusion.used = static_cast<std::int64_t>(graph.kernel_count());
  const auto result = evaluate(problem_, mapping(solution));
  if (const Cost* cost = std::get_if<Cost>(&result)) {
    solution.fusion.time = cost->layer_ticks;
    solution.cost = cost->step_time;
    expansion.solution(std::move(solution), 'T');
  } else {
    cut_by_capacity_.fetch_add(1, std::memory_order_relaxed);
  }
}

Mapping MappingProblem::mapping(const Solution& solution) const {
  return {.network = networks_[solution.point.network],
          .micro_batch = solution.point.micro_batch,
          .tile = solution.point.tile,
          .sharding = sharding_,
          .partition = solution.fusion.partition,
          .cores = {}};
}

std::optional<MappingSolution> MappingProblem::solution(const Mapping& mapping) const {
  const auto network = std::find(networks_.begin(), networks_.end(), mapping.network);
  if (mapping.sharding != sharding_ || network == networks_.end()) return std::nullopt;
  Mapping without_cores = mapping;
  without_cores.cores.clear();
  const auto result = evaluate(problem_, without_cores);
  const Cost* cost = std::get_if<Cost>(&result);
  if (cost == nullptr) return std::nullopt;
  return MappingSolution{.cost = cost->step_time,
                         .point = {.network = static_cast<std::size_t>(network - networks_.begin()),
                                   .tile = mapping.tile,
                                   .micro_batch = mapping.micro_batch},
                         .fusion = {.time = cost->layer_ticks,
                                    .partition = mapping.partition,
                                    .used = static_cast<std::int64_t>(cost->partitions.size())}};
}

void MappingProblem::add_stats(SearchStats& stats) const {
  stats.outer_points = points_.load(std::memory_order_relaxed);
  stats.outer_points_pruned = stats.outer_points - points_opened_.load(std::memory_order_relaxed);
  stats.pruned_by_capacity = cut_by_capacity_.load(std::memory_order_relaxed);
  stats.ideals = ideals_.load(std::memory_order_relaxed);
}

}  // namespace dfsearch
