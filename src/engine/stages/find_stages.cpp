// Searches the decisions outside the layer in the order of their bounds: once the least bound is no
// less than the cost of the best mapping, this mapping is the optimum.

#include "engine/stages/find_stages.hpp"

#include <tbb/task_arena.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "engine/mapping/point_bound.hpp"
#include "engine/stages/stage_chains.hpp"
#include "engine/stages/stage_order.hpp"
#include "engine/stages/stage_pricing.hpp"
#include "engine/tree/search_monitor.hpp"
#include "model/evaluate.hpp"
#include "model/layer/sharding.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

class StageSearch {
 public:
  StageSearch(const Problem& problem, const SearchOptions& options)
      : problem_(problem),
        options_(options),
        monitor_(listening(options), SearchStats{}),
        networks_(network_choices(problem, options.limits.deadline)) {
    require_network(networks_);
    result_.scope = scope_of(problem, networks_);
    std::set<Parallelism> different;
    for (const NetworkChoice& network : networks_) different.insert(parallelism_of(network));
    result_.parallelisms = static_cast<std::int64_t>(different.size());
    result_.alternatives_complete = result_.parallelisms == 1;
    result_.bounds = options.bounds;
    result_.memory_limit = options.limits.memory;
    result_.stats.threads = options.threads;
  }

  SearchResult run() {
    {
      const Watched watched(
          monitor_, [this] { return progress(); }, 1, 0);
      tbb::task_arena arena(options_.threads);
      try {
        arena.execute([this] { search(); });
      } catch (const Stopped&) {
        result_.stopped_by = stop_reason(deadline());
        if (result_.stopped_by == StopReason::None) result_.stopped_by = StopReason::Nodes;
      }
    }
    finish();
    monitor_.stop();
    result_.callback_error = monitor_.callback_error();
    return std::move(result_);
  }

 private:
  /// Decisions outside the layer, with a lower bound for all mappings that have them.
  struct Point {
    Mapping decided;
    Score bound{};
  };

  [[nodiscard]] const Deadline& deadline() const { return options_.limits.deadline; }
  [[nodiscard]] Score known() const {
    return result_.cost ? result_.cost->objective : Score::infinity();
  }

  [[nodiscard]] Progress progress() {
    const std::lock_guard lock(mutex_);
    return shown_;
  }
  /// Sets the bound of all open points, which the monitor reads.
  void set_bound(Score bound) {
    result_.lower_bound = std::min({bound, closed_, known()});
    const std::lock_guard lock(mutex_);
    shown_ = {.nodes = result_.stats.nodes,
              .open = static_cast<std::int64_t>(points_.size()),
              .incumbent = known(),
              .lower_bound = result_.lower_bound,
              .found_by = found_by_};
  }

  void take_hint() {
    if (!options_.hint) return;
    if (std::find(networks_.begin(), networks_.end(), options_.hint->network) == networks_.end()) {
      result_.hint = {not_searched::kNetwork};
    } else if (options_.hint->sharding != sharding_ && !result_.scope.empty()) {
      result_.hint = {not_searched::kSharding};
    }
    if (!result_.hint.empty()) return;
    auto verdict = evaluate(problem_, *options_.hint);
    if (std::holds_alternative<Cost>(verdict)) {
      take(*options_.hint, std::get<Cost>(std::move(verdict)), 'H');
    }
  }

  void take(Mapping mapping, Cost cost, char found_by) {
    mapping.cores = cost.cores;
    found_by_ = found_by;
    result_.mapping = std::move(mapping);
    result_.cost = std::move(cost);
    SearchStats& stats = result_.stats;
    stats.best_incumbent = monitor_.elapsed();
    if (stats.incumbents++ == 0) stats.first_incumbent = stats.best_incumbent;
    set_bound(result_.lower_bound);
    if (!options_.on_incumbent) return;
    monitor_.report(progress(), [this](const Progress& total) {
      options_.on_incumbent(total, *result_.mapping);
    });
  }

  void search() {
    if (options_.bounds.use(SearchBound::Floors)) set_bound(least_score(problem_, networks_, {}));
    deadline().check();
    sharding_ = least_bytes_sharding(problem_, deadline());
    take_hint();
    order_ = std::make_unique<StageOrder>(problem_.workload.graph, deadline());
    result_.stats.ideals = static_cast<std::int64_t>(order_->borders.size());
    if (!result_.cost) offer_balanced();
    bound_points();
    std::stable_sort(points_.begin(), points_.end(),
                     [](const Point& a, const Point& b) { return a.bound > b.bound; });
    while (!points_.empty() && !is_enough(points_.back().bound)) {
      ++result_.stats.outer_points_opened;
      const Point point = points_.back();
      search_point(point);
      points_.pop_back();
    }
    set_bound(points_.empty() ? known() : points_.back().bound);
  }

  [[nodiscard]] bool is_enough(Score bound) const {
    return result_.cost ? relative_gap(known(), bound) <= options_.limits.gap
                        : bound == Score::infinity();
  }

  [[nodiscard]] Mapping decided(const NetworkChoice& network, const OuterPoint& outer) const {
    return {.network = network,
            .micro_batch = outer.micro_batch,
            .tile = outer.tile,
            .sharding = sharding_,
            .partition = {},
            .cores = {}};
  }

  /// Offers a mapping before any table exists: stages of about equal work along one sequence of
  /// borders, with one kernel in each partition as far as the limit allows.
  void offer_balanced() {
    const DataflowGraph& graph = problem_.workload.graph;
    std::vector<std::size_t> chain{0};
    std::vector<double> work{0.0};  // before each border of the chain
    for (std::size_t b = 1; b < order_->borders.size(); ++b) {
      KernelSet added = order_->borders[b];
      if (!added.contains_all(order_->borders[chain.back()])) continue;
      added -= order_->borders[chain.back()];
      work.push_back(work.back());
      added.for_each(
          [&](std::size_t k) { work.back() += kernel_flops(graph.kernels()[k]) / Flops(1.0); });
      chain.push_back(b);
    }
    const std::vector<OuterPoint> outer = outer_points(problem_);
    for (const NetworkChoice& network : networks_) {
      const auto stages = static_cast<std::size_t>(degree_of(network, Strategy::Pipeline));
      if (stages > order_->most_stages) continue;
      std::vector<std::size_t> ends;  // of the stages
      std::size_t at = 0;
      for (std::size_t s = 1; s <= stages; ++s) {
        const double share = static_cast<double>(s) / static_cast<double>(stages);
        ++at;
        while (at + stages - s + 1 < chain.size() &&
               (s == stages || work[at] < share * work.back())) {
          ++at;
        }
        ends.push_back(chain[at]);
      }
      for (const OuterPoint& point : {outer.front(), outer.back()}) {
        deadline().check();
        Mapping mapping = decided(network, point);
        mapping.partition = alone_in(ends);
        auto verdict = evaluate(problem_, mapping);
        if (!std::holds_alternative<Cost>(verdict)) continue;
        return take(std::move(mapping), std::get<Cost>(std::move(verdict)), 'S');
      }
    }
  }

  /// The partition of each kernel for stages that end at these borders, forward kernels first.
  [[nodiscard]] std::vector<std::int64_t> alone_in(const std::vector<std::size_t>& ends) const {
    const DataflowGraph& graph = problem_.workload.graph;
    const std::int64_t limit = problem_.partition_limit();
    std::vector<std::int64_t> partition(graph.kernel_count());
    std::size_t begin = 0;
    for (std::size_t s = 0; s < ends.size(); begin = ends[s++]) {
      KernelSet stage = order_->borders[ends[s]];
      stage -= order_->borders[begin];
      const auto count = static_cast<std::int64_t>(stage.size());
      std::int64_t position = 0;
      for (const bool back : {false, true}) {
        for (const KernelId id : graph.topological_order()) {
          const std::size_t k = id.index();
          if (!stage.contains(k) || order_->backward.contains(k) != back) continue;
          partition[k] = static_cast<std::int64_t>(s) * limit +
                         (count <= limit ? position : position * limit / count);
          ++position;
        }
      }
    }
    return partition;
  }

  void bound_points() {
    for (const NetworkChoice& network : networks_) {
      const auto stages = static_cast<std::size_t>(degree_of(network, Strategy::Pipeline));
      if (stages > order_->most_stages) continue;
      for (const OuterPoint& outer : outer_points(problem_)) {
        ++result_.stats.outer_points;
        Point point{.decided = decided(network, outer)};
        const StagePricing pricing(problem_, *order_, point.decided, deadline());
        point.bound = chains_of(point, pricing).bound();
        if (point.bound < Score::infinity()) points_.push_back(std::move(point));
      }
    }
  }

  [[nodiscard]] StageChains chains_of(const Point& point, const StagePricing& pricing) const {
    const std::vector<Mapping::Dimension>& network = point.decided.network;
    return {pricing,
            *order_,
            staged_step(problem_, network),
            static_cast<std::size_t>(degree_of(network, Strategy::Pipeline)),
            options_.bounds.use(SearchBound::Floors),
            deadline()};
  }

  void search_point(const Point& point) {
    const StagePricing pricing(problem_, *order_, point.decided, deadline());
    StageChains chains = chains_of(point, pricing);
    const Score next = points_.size() > 1 ? points_[points_.size() - 2].bound : Score::infinity();
    const SearchStats before = result_.stats;
    while (true) {
      set_bound(std::min(next, chains.bound()));
      if (is_enough(chains.bound())) break;
      deadline().check();
      if (result_.stats.nodes >= options_.limits.nodes) throw Stopped();
      if (!chains.advance(known())) break;
      result_.stats.nodes = before.nodes + chains.priced();
      result_.stats.pruned_by_bound = before.pruned_by_bound + chains.dropped();
      if (chains.found() && chains.found()->cost < known()) {
        take_chain(point, pricing, *chains.found());
      }
      monitor_.after_round();
    }
    closed_ = std::min(closed_, chains.bound());
  }

  /// Costs the chain by the plain model.
  void take_chain(const Point& point, const StagePricing& pricing, const StageChain& chain) {
    Mapping mapping = point.decided;
    mapping.partition.assign(problem_.workload.graph.kernel_count(), 0);
    for (std::size_t s = 0; s + 1 < chain.borders.size(); ++s) {
      auto index = static_cast<std::int64_t>(s) * problem_.partition_limit();
      for (const KernelSet& partition :
           pricing.partitions(chain.borders[s], chain.borders[s + 1])) {
        partition.for_each([&](std::size_t k) { mapping.partition[k] = index; });
        ++index;
      }
    }
    auto verdict = evaluate(problem_, mapping);
    const Cost* cost = std::get_if<Cost>(&verdict);
    if (cost == nullptr || !(cost->objective == chain.cost)) {
      throw InternalError("the search and the model disagree on the cost of the stages found");
    }
    take(std::move(mapping), *cost, 'S');
  }

  void finish() {
    result_.stats.time = monitor_.total_time();
    result_.stats.proof_nodes = result_.stats.nodes;
    result_.stats.proof_time = result_.stats.time;
    if (result_.cost) {
      result_.gap = relative_gap(known(), result_.lower_bound);
      const bool enough = result_.gap <= options_.limits.gap;
      result_.status = enough ? SearchStatus::Optimal : SearchStatus::Feasible;
    } else if (result_.stopped_by == StopReason::None) {
      result_.status = SearchStatus::Infeasible;
      result_.infeasible = reason();
    }
  }

  /// The reason why nothing fits: too many stages, a kernel that does not fit even with the
  /// smallest tile, or all kernels together.
  [[nodiscard]] Infeasible reason() const {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const NetworkChoice& network : networks_) {
      least = std::min(least, degree_of(network, Strategy::Pipeline));
    }
    const auto most = static_cast<std::int64_t>(order_->most_stages);
    if (least > most) {
      return {.resource = Resource::Stages,
              .needed = static_cast<double>(least),
              .available = static_cast<double>(most)};
    }
    std::optional<Infeasible> misfit;
    for (const NetworkChoice& network : networks_) {
      const Mapping smallest = decided(network, outer_points(problem_).back());
      misfit = StagePricing(problem_, *order_, smallest, deadline()).misfit();
      if (!misfit) break;
    }
    return misfit.value_or(Infeasible{.resource = Resource::Stages});
  }

  const Problem& problem_;
  const SearchOptions& options_;
  SearchMonitor monitor_;
  const std::vector<NetworkChoice> networks_;
  std::unique_ptr<const StageOrder> order_;
  std::vector<LoopPair> sharding_;
  std::vector<Point> points_;         // open points, the least bound last
  Score closed_ = Score::infinity();  // the least bound of points closed within the gap
  SearchResult result_;
  char found_by_ = ' ';
  std::mutex mutex_;  // guards the members below, which the thread of the listener reads
  Progress shown_;
};

}  // namespace

SearchResult find_stages(const Problem& problem, const SearchOptions& options) {
  return StageSearch(problem, options).run();
}

}  // namespace dfsearch
