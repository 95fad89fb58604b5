// The tree above the fusions (mapping_problem_fusion.cpp).
//
// The levels of the tree are:
//
//   - the root;
//   - a node per network, at first without a bound, then with the least bound of its points;
//   - a node per outer point, whose bound is a closed form: a sum over kernels;
//   - if the sharding is searched, nodes that each decide one more kernel's loop;
//   - the empty fusion of the point, once its tables are built;
//   - fusions.
//
// All nodes share one queue and one incumbent, so a point is opened only while its bound is the
// least of all, and a good mapping of one point prunes the others.

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/mapping/mapping_problem.hpp"
#include "engine/mapping/point_bound.hpp"
#include "engine/mapping/tile_dominance.hpp"
#include "engine/sharding/sharding_completion.hpp"
#include "engine/tables/partition_rules.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/layer/lone_kernel.hpp"
#include "model/layer/shard.hpp"
#include "model/layer/sharding.hpp"

namespace dfsearch {
namespace {

// Steps spent on the fusion of a sharding decided in part: some ten milliseconds.
constexpr std::int64_t kRelaxationSteps = 200'000;
// A point whose bound is below this share of the best known cost gets a first mapping of its own.
constexpr double kFarFromBest = 0.99;

/// The node of all points of a network, given their bounds and the bound of the root.
MappingProblem::Node of_network(std::size_t network, Score floor,
                                const std::vector<Score>& bounds) {
  return {.bound = std::max(floor, *std::min_element(bounds.begin(), bounds.end())),
          .network = network,
          .point = std::nullopt,
          .sharding = nullptr,
          .context = nullptr,
          .fusion = {}};
}

}  // namespace

void MappingProblem::branch(const Node& node, Sink& expansion) const {
  shared_->allowance.deadline.check();
  if (node.network) {
    branch_network(*node.network, expansion);
  } else if (!node.point) {
    branch_root(expansion);
  } else if (!node.context) {
    open_point(node, expansion);
  } else {
    branch_fusion(node, expansion);
  }
}

/// Makes one node per network, so that several workers find the bounds of points.
void MappingProblem::branch_root(Sink& expansion) const {
  std::int64_t networks = 0;
  PacedDeadline paced(shared_->allowance.deadline, 1'000);
  // Among equal bounds the queue takes the newest: the first network of the list.
  for (std::size_t network = networks_.size(); network-- > 0;) {
    if (excludes(networks_[network])) continue;
    ++networks;
    paced.check();
    if (networks_.size() == 1) {
      branch_network(network, expansion);
      continue;
    }
    auto known = known_bounds(network);
    // Later trees know the bounds from the first tree.  After a resume they do not, so the bounds
    // are found again here and the nodes are the same.
    if (!known && !excluded_.empty()) known = find_bounds(outer_points(problem_, network));
    expansion.child(of_network(network, shared_->floor, known ? *known : std::vector{Score{}}));
  }
  points_.store(networks * static_cast<std::int64_t>(outer_points(problem_).size()),
                std::memory_order_relaxed);
}

/// If the bounds of the points are new, the network goes back to the queue with the least of them:
/// most networks never come up again, so their points never become nodes.
void MappingProblem::branch_network(std::size_t network, Sink& expansion) const {
  const std::vector<OuterPoint> points = outer_points(problem_, network);
  auto bounds = known_bounds(network);
  if (!bounds) {
    // The point that needs the least memory: the shortest tiles and the smallest micro-batch.
    offer_first(*std::min_element(points.begin(), points.end(),
                                  [](const OuterPoint& a, const OuterPoint& b) {
                                    return std::tie(a.spilled, a.tile, a.micro_batch) <
                                           std::tie(b.spilled, b.tile, b.micro_batch);
                                  }),
                expansion);
    bounds = find_bounds(points);
    if (networks_.size() > 1) {
      expansion.child(of_network(network, shared_->floor, *bounds));
      return;
    }
  }
  // The queue takes the last of equal bounds first: the largest tile, unless the smallest may
  // replace all others.
  const bool smallest_first = !shared_->replacing_tiles.empty() && !fewer_tiles_replace(problem_);
  std::size_t first = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Score bound = (*bounds)[i];
    if (smallest_first ? bound <= (*bounds)[first] : bound < (*bounds)[first]) first = i;
  }
  if (!holds_weights(points[first])) {
    cut_by_capacity_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  offer_first(points[first], expansion);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t next = smallest_first ? i : points.size() - 1 - i;
    expansion.child({.bound = std::max(shared_->floor, (*bounds)[next]),
                     .network = std::nullopt,
                     .point = points[next],
                     .sharding = nullptr,
                     .context = nullptr,
                     .fusion = {}});
  }
}

/// Whether another number of tiles needs no more of any resource.  Either only more or only fewer
/// tiles are tried, so that no two points replace each other.
bool MappingProblem::replaced_by_other_tiles(OuterPoint point) const {
  if (shared_->replacing_tiles.empty()) return false;
  const auto costs = [this](OuterPoint of) {
    return TileCosts(problem_, decisions(of, loops_left(of.network, nullptr)),
                     shared_->core_options);
  };
  const bool by_fewer = fewer_tiles_replace(problem_);
  const std::int64_t tiles = tile_count(problem_.workload, point.tile);
  std::optional<TileCosts> of_point;
  for (const OuterPoint& other : outer_points(problem_, point.network)) {
    if (other.spilled != point.spilled || other.micro_batch != point.micro_batch) continue;
    const std::int64_t count = tile_count(problem_.workload, other.tile);
    const auto& replacing = shared_->replacing_tiles;
    if ((by_fewer ? count >= tiles : count <= tiles) ||
        std::find(replacing.begin(), replacing.end(), count) == replacing.end()) {
      continue;
    }
    if (!of_point) of_point.emplace(costs(point));
    if (costs(other).no_more_than(*of_point)) return true;
  }
  return false;
}

/// Whether the weights alone fit into memory; they are the same at all points of a network.
/// `point` is the point that is opened first: its tables are built here, unless kernels run one by
/// one.
bool MappingProblem::holds_weights(OuterPoint point) const {
  Bytes weights{};
  if (problem_.execution.style == Style::KernelByKernel) {
    const LayerDecisions decided = decisions(point, loops_left(point.network, nullptr));
    const LayerCosts costs(problem_, decided, 0, &shared_->core_options);
    for (std::size_t k = 0; k < problem_.workload.graph.kernel_count(); ++k) {
      weights += costs.stored_weight(KernelId(k));
    }
    const StepTime step = step_time(problem_, decided.network, decided.micro_batch);
    weights = weights * static_cast<double>(step.layers_per_stage) +
              stored_share(problem_.workload, problem_.chips_per_copy());
  } else {
    weights = open(point)->tables.weights();
  }
  // `evaluate` adds up the weights of the n kernels in another order.  Each of the two sums has
  // n - 1 additions and at most four other roundings, and the product here has one more.
  const std::size_t roundings = 2 * problem_.workload.graph.kernel_count() + 7;
  return weights * less_roundings(roundings) <= problem_.system.memory_capacity();
}

/// Finds the bounds of all points of a network and keeps them for all trees.
std::shared_ptr<const std::vector<Score>> MappingProblem::find_bounds(
    const std::vector<OuterPoint>& points) const {
  std::vector<Score> bounds;
  bounds.reserve(points.size());
  for (const OuterPoint point : points) {
    shared_->allowance.deadline.check();
    bounds.push_back(point_bound(point));
  }
  const std::lock_guard lock(shared_->mutex);
  shared_->point_bounds.resize(networks_.size());
  auto& known = shared_->point_bounds[points.front().network];
  known = std::make_shared<const std::vector<Score>>(std::move(bounds));
  return known;
}

std::shared_ptr<const std::vector<Score>> MappingProblem::known_bounds(std::size_t network) const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->point_bounds.empty() ? nullptr : shared_->point_bounds[network];
}

/// The score of the compute and network time that no sharding or fusion of the point can avoid.
Score MappingProblem::point_bound(OuterPoint point) const {
  if (!bounds().use(SearchBound::Point)) return {};
  const NetworkChoice& network = networks_[point.network];
  const StepTime step = step_time(problem_, network, point.micro_batch);
  return step.score(least_layer_time(problem_, network, tile_count(problem_.workload, point.tile),
                                     step.micro_batches, loops_left(point.network, nullptr),
                                     &shared_->core_options));
}

void MappingProblem::open_point(const Node& node, Sink& expansion) const {
  if (!node.sharding) {
    if (replaced_by_other_tiles(*node.point)) {
      cut_by_tiles_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    points_opened_.fetch_add(1, std::memory_order_relaxed);
  }
  LoopSets sharding = loops_left(node.point->network, node.sharding.get());
  if (shared_->space) {
    if (!shared_->space->break_symmetry(sharding)) return;
    shared_->space->drop_dominated(decisions(*node.point, {}), sharding, shared_->core_options);
    if (!is_decided(sharding)) {
      if (!node.sharding) offer_first(*node.point, expansion);
      branch_sharding(node, std::move(sharding), expansion);
      return;
    }
  }
  if (problem_.execution.style == Style::KernelByKernel) {
    evaluate_kernel_by_kernel(node, first_sharding(sharding), 'T', expansion);
  } else {
    open_fusion(node, std::move(sharding), expansion);
  }
}

std::vector<std::int64_t> MappingProblem::one_partition_per_kernel() const {
  const DataflowGraph& graph = problem_.workload.graph;
  std::vector<std::int64_t> partition(graph.kernel_count());
  for (std::size_t p = 0; p < partition.size(); ++p) {
    partition[graph.topological_order()[p].index()] = static_cast<std::int64_t>(p);
  }
  return partition;
}

/// Evaluates the only fusion: one partition per kernel in topological order.
void MappingProblem::evaluate_kernel_by_kernel(const Node& node, std::vector<LoopPair>&& sharding,
                                               char found_by, Sink& expansion) const {
  const LayerDecisions decided = decisions(*node.point, loop_sets(sharding));
  const StepTime step = step_time(problem_, decided.network, decided.micro_batch);
  const LayerCosts costs(problem_, decided, 0, &shared_->core_options);
  // This is the time of the mapping, even if it does not fit; `evaluate` decides that.
  const Ticks time = kernel_by_kernel_time(problem_, costs);
  if (time > ticks_within(costs.clock(), step, expansion.cutoff())) return;
  Solution solution{.cost = {},
                    .point = *node.point,
                    .sharding = std::move(sharding),
                    .fusion = {.time = 0, .partition = one_partition_per_kernel()}};
  const auto result = evaluate(problem_, mapping(solution));
  if (const Cost* cost = std::get_if<Cost>(&result)) {
    offer(solution.point, std::move(solution.sharding), std::move(solution.fusion.partition), *cost,
          found_by, expansion);
  } else {
    cut_by_capacity_.fetch_add(1, std::memory_order_relaxed);
  }
}

void MappingProblem::offer(OuterPoint point, std::vector<LoopPair>&& sharding,
                           std::vector<std::int64_t>&& partition, const Cost& cost, char found_by,
                           Sink& expansion) const {
  if (cost.objective > expansion.cutoff()) return;
  expansion.solution({.cost = cost.objective,
                      .point = point,
                      .sharding = std::move(sharding),
                      .fusion = {.time = cost.layer_ticks, .partition = std::move(partition)}},
                     found_by);
}

/// The best fusion if every kernel had the minimum of each cost over its remaining loops; raises
/// the child's bound to the lower bound on its time.  Returns nothing if no mapping below the child
/// is within the cutoff.  Without SearchBound::Relaxation the result has no fusion and no bound.
std::optional<RelaxedFusion> MappingProblem::relax(const LayerDecisions& decided,
                                                   const StepTime& step, Node& child,
                                                   const Sink& expansion) const {
  RelaxedFusion relaxed;
  if (!bounds().use(SearchBound::Relaxation)) return relaxed;
  CountedCall call(shared_->allowance.efforts, SearchBound::Relaxation);
  Clock clock;
  if (problem_.execution.style == Style::KernelByKernel) {
    const LayerCosts costs(problem_, decided, 0, &shared_->core_options);
    clock = costs.clock();
    relaxed.bound = kernel_by_kernel_time(problem_, costs);
    relaxed.fusion = Fusion{.time = relaxed.bound, .partition = one_partition_per_kernel()};
  } else {
    TableSettings uncounted = settings();
    uncounted.allowance = uncounted.allowance.uncounted();
    const FusionTables tables(problem_, decided, order(decided.sharding), uncounted);
    clock = tables.clock();
    if (overfull(tables)) return std::nullopt;
    const FusionTree search(tables);
    const Ticks limit = ticks_within(clock, step, expansion.cutoff());
    const FusionNode root = search.root();
    if (tables.least_partitions(search.rest(root)) > PartitionRules(tables).most() ||
        root.bound > limit) {
      return std::nullopt;
    }
    relaxed = relaxed_fusion(tables, limit, kRelaxationSteps);
  }
  if (relaxed.bound >= kNever) return std::nullopt;
  const Score bound = step.score(clock.seconds(relaxed.bound));
  call.found(child.bound < bound);
  child.bound = std::max(child.bound, bound);
  return relaxed;
}

/// For kernel-by-kernel execution: raises the child's bound to the time of the best sharding left
/// and offers that sharding.  Returns the kernel to branch on; nothing for other styles, or if no
/// best sharding was found.
std::optional<std::size_t> MappingProblem::bound_lone_kernels(const LayerDecisions& decided,
                                                              const StepTime& step, Node& child,
                                                              Sink& expansion) const {
  if (problem_.execution.style != Style::KernelByKernel) return std::nullopt;
  if (!bounds().use(SearchBound::LoneKernels)) return std::nullopt;
  auto best =
      best_lone_sharding(problem_, decided, shared_->core_options, shared_->allowance.deadline);
  if (!best) return std::nullopt;
  child.bound = std::max(child.bound, step.score(best->clock.seconds(best->time)));
  if (child.bound <= expansion.cutoff() && bounds().use(SearchBound::Completion)) {
    evaluate_kernel_by_kernel(child, std::move(best->sharding), 'R', expansion);
  }
  return best->branch_on;
}

/// Decides one more kernel's loop (docs/search.md, section 9).
void MappingProblem::branch_sharding(const Node& node, LoopSets&& sharding, Sink& expansion) const {
  const LayerDecisions decided = decisions(*node.point, std::move(sharding));
  const StepTime step = step_time(problem_, decided.network, decided.micro_batch);
  Node child{.bound = node.bound,
             .network = std::nullopt,
             .point = node.point,
             .sharding = nullptr,
             .context = nullptr,
             .fusion = {}};
  std::optional<std::size_t> kernel = bound_lone_kernels(decided, step, child, expansion);
  std::optional<JointBound> least;
  if (!kernel && bounds().use(SearchBound::Multipliers)) {
    least = least_joint_time(problem_, decided, step.micro_batches, shared_->core_options,
                             shared_->allowance.deadline,
                             [&](Seconds time) { return step.score(time) > expansion.cutoff(); });
    if (least) child.bound = std::max(child.bound, step.score(least->time));
  }
  if (child.bound > expansion.cutoff()) {
    cut_by_shardings_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  // The relaxation of a point takes long and another point may have a lower bound by now, so the
  // child goes back to the queue.
  if (!kernel && !node.sharding && child.bound > node.bound) {
    points_opened_.fetch_sub(1, std::memory_order_relaxed);
    const bool dataflow = problem_.execution.style == Style::Dataflow;
    if (dataflow && least && bounds().use(SearchBound::Segments) &&
        child.bound < kFarFromBest * expansion.cutoff()) {
      offer_segments(*node.point, loop_sets(least->sharding), expansion);
    }
    expansion.child(std::move(child));
    return;
  }
  if (!kernel) {
    const auto relaxed = relax(decided, step, child, expansion);
    if (!relaxed) return;
    if (relaxed->fusion && bounds().use(SearchBound::Completion)) {
      ShardingCompletion completion = complete_sharding(
          problem_, decided, relaxed->fusion->partition, shared_->allowance.deadline);
      if (completion.cost) {
        offer(*node.point, std::move(completion.sharding), std::vector(relaxed->fusion->partition),
              *completion.cost, 'R', expansion);
      }
      kernel = completion.branch_on;
    }
  }
  if (!kernel) {
    kernel = 0;
    while (decided.sharding[*kernel].size() == 1) ++*kernel;
  }
  std::vector<LoopPair> loops;
  for (const LoopPair loop : decided.sharding[*kernel]) loops.push_back(loop);
  // Among equal bounds the queue takes the newest: the first loop.
  std::reverse(loops.begin(), loops.end());
  for (const LoopPair loop : loops) {
    auto sets = std::make_shared<LoopSets>(decided.sharding);
    (*sets)[*kernel] = loop;
    Node one = child;
    one.sharding = std::move(sets);
    expansion.child(std::move(one));
  }
}

}  // namespace dfsearch
