#include "engine/serving/find_deployment.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "engine/serving/deployment_search.hpp"
#include "engine/serving/deployment_space.hpp"
#include "engine/serving/remedies.hpp"
#include "engine/tree/search_monitor.hpp"

namespace dfsearch::serving {
namespace {

/// At most `most` values of a choice, the first, the last and some between; an open choice gives
/// powers of two up to `last`.
DegreeChoice few_of(const DegreeChoice& choice, std::size_t most, std::int64_t last) {
  std::vector<std::int64_t> values = choice.values;
  if (values.empty()) {
    values.push_back(choice.least);
    for (std::int64_t value = 2; value <= last; value *= 2) {
      if (value > choice.least && choice.allows(value)) values.push_back(value);
    }
  }
  std::sort(values.begin(), values.end());
  if (values.size() <= most) return {.values = values};
  DegreeChoice few;
  for (std::size_t i = 0; i < most; ++i) {
    few.values.push_back(most == 1 ? values.front() : values[i * (values.size() - 1) / (most - 1)]);
  }
  return few;
}

/// The task with few choices, so that its search ends at once.
Task narrowed(const Task& task) {
  using R = RoleChoices;
  struct Few {
    std::optional<DegreeChoice> R::*key;
    std::size_t most;
  };
  static constexpr Few kFew[] = {{&R::tensor, 4},  {&R::pipeline, 1}, {&R::attention_data, 4},
                                 {&R::expert, 4},  {&R::batch, 8},    {&R::chunk, 3},
                                 {&R::replicas, 6}};
  constexpr std::int64_t kLast = 1 << 12;
  std::int64_t chips = 1;
  for (const Pool& pool : task.pools) chips = std::max(chips, std::min(pool.chips, kLast));
  Task few = task;
  for (RoleChoices Task::*role : {&Task::aggregated, &Task::prefill, &Task::decode}) {
    for (const Few& row : kFew) {
      few.*role.*row.key = few_of(choice_of(task, task.*role, row.key), row.most,
                                  row.key == &R::batch ? kLast : chips);
    }
  }
  few.precisions.resize(1);
  few.speculation.depths.resize(1);
  return few;
}

/// Recomputes the figures of an answer by the model; a difference is an InternalError.
FrontPoint judged(const Task& task, const Candidate& candidate) {
  if (!ruled_out(task, candidate.deployment).empty()) {
    throw InternalError("the deployment found is not among the choices");
  }
  Figures again = evaluate(task, candidate.deployment);
  const auto differs = [](double a, double b) { return std::abs(a - b) > 1e-12 * std::abs(b); };
  if (again.broken != candidate.figures.broken || differs(again.tpot, candidate.figures.tpot) ||
      differs(again.ttft, candidate.figures.ttft) ||
      differs(again.capacity, candidate.figures.capacity)) {
    throw InternalError("the search and the model disagree on the deployment found");
  }
  return {candidate.deployment, again};
}

class Finder {
 public:
  Finder(const Task& task, const ServingSearch& search)
      : task_(task), search_(search), monitor_(listening(search), search.before) {
    result_.stats = search.before;
  }

  ServingResult run() {
    try {
      if (search_.known.empty()) find_first();
      space_ = std::make_shared<const DeploymentSpace>(task_, search_.limits.deadline);
      result_.leftovers = space_;
      if (!(space_->deployments() > 0.0)) {
        throw InputError("serving: the choices leave no deployment: " + why_empty(task_));
      }
      result_.deployments = space_->deployments();
      find_all();
      if (result_.status == SearchStatus::Infeasible) explain();
      if (search_.explain && result_.status == SearchStatus::Optimal) find_gains();
      if (search_.count) result_.feasible = count();
    } catch (const Stopped&) {
      if (result_.stopped_by == StopReason::None) {
        result_.stopped_by = stop_reason(search_.limits.deadline);
      }
      if (!result_.deployment) keep_known();
    }
    result_.stats.time = result_.stats.proof_time = monitor_.total_time();
    result_.stats.proof_nodes = result_.stats.nodes;
    result_.stats.threads = threads();
    monitor_.stop();
    result_.callback_error = monitor_.callback_error();
    return std::move(result_);
  }

 private:
  /// Finds a first deployment before all choices are enumerated.
  void find_first() {
    const Task few = narrowed(task_);
    const DeploymentSpace space(few, search_.limits.deadline);
    DeploymentSearch tree(space, {.objective = task_.objective, .mode = {}, .excluded = {}}, left(),
                          1);
    tree.run();
    result_.stats.nodes += tree.nodes();
    const Candidate* best = tree.incumbents().best();
    if (best == nullptr) return;
    first_ = best->deployment;
    note_incumbent();
    if (!search_.on_incumbent) return;
    Progress progress = tree.progress();
    progress.lower_bound = Score{};
    monitor_.report(progress, [&](const Progress& total) { search_.on_incumbent(total, *first_); });
  }

  /// The answer if a limit ended the search before it began: the best known deployment, without a
  /// bound.
  void keep_known() {
    const bool front = task_.objective == Objective::Front;
    Incumbents known(front);
    const auto add = [&](const Deployment& deployment) {
      if (!ruled_out(task_, deployment).empty()) return;
      const Figures figures = evaluate(task_, deployment);
      if (!figures.feasible()) return;
      known.add({deployment, figures, value_of(task_.objective, task_.front, figures)});
    };
    std::for_each(search_.known.begin(), search_.known.end(), add);
    if (first_) add(*first_);
    const Candidate* best = known.best();
    if (best == nullptr) return;
    result_.status = SearchStatus::Feasible;
    result_.deployment = best->deployment;
    result_.figures = judged(task_, *best).figures;
    result_.cost = Score(best->value);
    result_.lower_bound = Score{};
    result_.gap = 1.0;
    if (!front) return;
    for (const Candidate& step : known.steps()) result_.front.push_back(judged(task_, step));
  }

  void note_incumbent() {
    const std::lock_guard lock(checkpoint_mutex_);
    SearchStats& stats = result_.stats;
    stats.best_incumbent = monitor_.total_time();
    stats.first_incumbent = std::min(stats.first_incumbent, stats.best_incumbent);
  }

  [[nodiscard]] int threads() const { return search_.deterministic ? 1 : search_.threads; }

  void find_all() {
    std::vector<Deployment> excluded;
    const auto top = static_cast<std::size_t>(std::max<std::int64_t>(1, search_.top));
    for (std::size_t rank = 0; rank < top; ++rank) {
      FoundDeployment found = find(excluded, rank == 0);
      const bool none = found.status == SearchStatus::Infeasible;
      if (rank == 0) {
        static_cast<FoundDeployment&>(result_) = found;
      } else if (!none) {
        result_.alternatives.push_back(found);
      }
      if (none && rank > 0) result_.alternatives_complete = true;
      if (found.status != SearchStatus::Optimal || !found.deployment) return;
      if (rank == 0) find_best_of_modes();
      excluded.push_back(*found.deployment);
    }
  }

  FoundDeployment find(const std::vector<Deployment>& excluded, bool is_first) {
    DeploymentSearch tree(*space_,
                          {.objective = task_.objective,
                           .mode = {},
                           .excluded = excluded,
                           .has_floors = search_.bounds.use(SearchBound::Floors)},
                          left(), threads());
    if (is_first) {
      for (const Deployment& known : search_.known) tree.start_from(known);
      if (first_) tree.start_from(*first_);
    }
    if (is_first || search_.on_incumbent) {
      tree.on_incumbent([this, &tree, is_first](const Progress& progress,
                                                const Deployment& deployment) {
        if (is_first) note_incumbent();
        if (search_.on_incumbent) {
          monitor_.report(progress,
                          [&](const Progress& total) { search_.on_incumbent(total, deployment); });
        }
        if (is_first) report_checkpoint(tree, search_.checkpoint_interval);
      });
    }
    {
      const Watched watched(
          monitor_, [&tree] { return tree.progress(); }, static_cast<int>(excluded.size()) + 1,
          result_.stats.nodes);
      tree.run();
    }
    take_counts(tree);
    if (is_first) report_checkpoint(tree, Seconds{});
    FoundDeployment found;
    found.stopped_by = tree.stopped_by();
    const bool stopped = found.stopped_by != StopReason::None;
    found.lower_bound = Score(tree.lower_bound());
    found.gap = tree.gap();
    const bool near = !stopped || found.gap <= search_.limits.gap;
    found.status = !tree.incumbents().best()
                       ? (stopped ? SearchStatus::NoSolution : SearchStatus::Infeasible)
                       : (near ? SearchStatus::Optimal : SearchStatus::Feasible);
    if (const Candidate* best = tree.incumbents().best()) {
      found.deployment = best->deployment;
      found.figures = judged(task_, *best).figures;
      found.cost = Score(best->value);
    }
    if (is_first && found.status == SearchStatus::Infeasible) {
      for (std::size_t i = 0; i < kBroken; ++i) {
        const auto limit = static_cast<Broken>(i);
        if (space_->cut()[i] > 0 || tree.broke(limit)) result_.ruled_out_by.push_back(limit);
      }
    }
    if (is_first && task_.objective == Objective::Front) {
      for (const Candidate& step : tree.incumbents().steps()) {
        result_.front.push_back(judged(task_, step));
      }
    }
    return found;
  }

  /// Does nothing if the last checkpoint is more recent than the interval.
  void report_checkpoint(const DeploymentSearch& tree, Seconds interval) {
    if (!search_.on_checkpoint) return;
    const std::lock_guard lock(checkpoint_mutex_);
    if (monitor_.elapsed() - last_checkpoint_ < interval) return;
    SearchStats stats = search_.before;
    stats.nodes += tree.nodes();
    stats.time = monitor_.total_time();
    monitor_.call_unlocked([&] { search_.on_checkpoint(tree.incumbents().deployments(), stats); });
    last_checkpoint_ = monitor_.elapsed();
  }

  /// One search for each quantity and pool.
  void find_gains() {
    if (task_.objective == Objective::Front) return;
    struct Row {
      std::string_view more;
      void (*raise)(Pool&);
    };
    static constexpr double kMore = 1.1;
    static const Row rows[] = {
        {"peak",
         [](Pool& pool) {
           for (auto& peak : pool.peak) {
             if (peak) *peak = kMore * *peak;
           }
           pool.machine.accelerator.frequency = kMore * pool.machine.accelerator.frequency;
         }},
        {"memory bandwidth",
         [](Pool& pool) {
           pool.machine.memory[0].bandwidth = kMore * pool.machine.memory[0].bandwidth;
         }},
        {"memory capacity",
         [](Pool& pool) {
           pool.machine.memory[0].capacity = kMore * pool.machine.memory[0].capacity;
         }},
        {"network bandwidth", [](Pool& pool) {
           for (NetworkDimension& d : pool.machine.network) d.bandwidth = kMore * d.bandwidth;
         }}};
    for (std::size_t pool = 0; pool < task_.pools.size(); ++pool) {
      for (const Row& row : rows) {
        Task raised = task_;
        row.raise(raised.pools[pool]);
        const DeploymentSpace space(raised, search_.limits.deadline);
        const auto best = best_with(task_.objective, {}, space);
        result_.gains.push_back(
            {row.more, pool, best ? std::optional(judged(raised, *best)) : std::nullopt});
      }
    }
  }

  /// The winner of each mode, if both are requested.
  void find_best_of_modes() {
    if (task_.modes.size() < 2 || task_.objective == Objective::Front) return;
    for (const Mode mode : {Mode::Aggregated, Mode::Disaggregated}) {
      auto& best = result_.best_of_mode[static_cast<std::size_t>(mode)];
      if (mode == result_.deployment->mode) {
        best = FrontPoint{*result_.deployment, *result_.figures};
        continue;
      }
      const auto answer = best_with(task_.objective, mode, *space_);
      if (answer) best = judged(task_, *answer);
    }
  }

  std::optional<Candidate> best_with(Objective objective, std::optional<Mode> mode,
                                     const DeploymentSpace& space) {
    DeploymentSearch tree(space, {.objective = objective, .mode = mode, .excluded = {}}, left(),
                          threads());
    tree.run();
    take_counts(tree);
    const Candidate* best = tree.incumbents().best();
    if (tree.stopped_by() != StopReason::None || !best) return std::nullopt;
    return *best;
  }

  [[nodiscard]] dfsearch::Limits left() const {
    dfsearch::Limits limits = search_.limits;
    limits.nodes -= std::min(limits.nodes, result_.stats.nodes);
    return limits;
  }

  void take_counts(const DeploymentSearch& tree) {
    result_.stats.nodes += tree.nodes();
    result_.stats.incumbents += tree.improvements();
    result_.leaves += tree.leaves();
    const auto closed = tree.closed();
    for (std::size_t i = 0; i < kClosed; ++i) result_.closed[i] += closed[i];
    result_.stats.pruned_by_bound += closed[static_cast<std::size_t>(Closed::Bound)];
    result_.cut = space_->cut();
  }

  /// Keeps the remedies that are found before a limit ends the search.
  void explain() {
    const auto least_of = [&](const Task& task, Objective objective) {
      const DeploymentSpace space(task, search_.limits.deadline);
      DeploymentSearch tree(
          space, {.objective = objective, .mode = {}, .excluded = {}, .to_the_bit = true}, left(),
          threads());
      tree.run();
      take_counts(tree);
      if (tree.stopped_by() != StopReason::None) throw Stopped();
      const Candidate* least = tree.incumbents().least();
      return least ? std::optional(*least) : std::nullopt;
    };
    try {
      add_remedies(task_, least_of, result_.remedies);
    } catch (const Stopped&) {
    }
  }

  /// The number of deployments that keep all limits, counted one by one.
  [[nodiscard]] std::int64_t count() const;

  const Task& task_;
  const ServingSearch& search_;
  SearchMonitor monitor_;
  std::shared_ptr<const DeploymentSpace> space_;
  std::optional<Deployment> first_;
  ServingResult result_;
  std::mutex checkpoint_mutex_;  // guards the members below, and the times of incumbents
  Seconds last_checkpoint_{};
};

std::int64_t Finder::count() const {
  std::int64_t feasible = 0;
  PacedDeadline paced(search_.limits.deadline, 1 << 12);
  const std::function<void(const DeploymentBox&)> add = [&](const DeploymentBox& box) {
    if (!box.is_single()) {
      const auto [below, above] = box.halves();
      add(below);
      return add(above);
    }
    box.each_count([] { return CountWindow{}; },
                   [&](std::int64_t, std::int64_t, const Figures& figures) {
                     paced.check();
                     feasible += figures.feasible();
                   });
  };
  for (const Chain& chain : space_->aggregated()) {
    if (!chain.batches.empty()) add({*space_, chain, nullptr});
  }
  for (const PrefillChain& prefill : space_->prefillers()) {
    for (const Chain& chain : space_->decoders()) {
      if (!prefill.batches.empty() && !chain.batches.empty()) add({*space_, chain, &prefill});
    }
  }
  return feasible;
}

/// Searches without the framework, starting from the deployments found.
void add_any_framework(Task task, const ServingSearch& search, ServingResult& result) {
  task.framework.reset();
  ServingSearch free{.limits = search.limits,
                     .threads = search.threads,
                     .deterministic = search.deterministic,
                     .known = {*result.deployment}};
  for (const FrontPoint& point : result.front) free.known.push_back(point.deployment);
  free.limits.nodes -= std::min(free.limits.nodes, result.stats.nodes);
  ServingResult best = Finder(task, free).run();
  BestWithoutFramework any{.best = best.cost, .lower_bound = best.lower_bound};
  if (task.objective != Objective::Front) {
    any.gain = result.cost / best.cost - 1.0;
    result.of_any = {{*best.deployment, *best.figures}};
  } else {
    const auto value = [&](const FrontPoint& point) {
      return value_of(task.objective, task.front, point.figures);
    };
    for (const FrontPoint& point : best.front) {
      double found = kNever;
      for (const FrontPoint& own : result.front) {
        if (own.figures.tpot <= point.figures.tpot * (1.0 + kTie))
          found = std::min(found, value(own));
      }
      any.gain = std::max(any.gain, found / value(point) - 1.0);
    }
    result.of_any = std::move(best.front);
  }
  result.any_framework = any;
}

}  // namespace

namespace {

/// Called if nothing fits: searches at the low end of the memory.  A deployment that fits there
/// need not fit in reality.
void add_at_low(Task task, const ServingSearch& search, ServingResult& result) {
  const bool may =
      has_low_end(task) && std::find(result.ruled_out_by.begin(), result.ruled_out_by.end(),
                                     Broken::Memory) != result.ruled_out_by.end();
  if (!may) return;
  task.level = memory::Level::Low;
  ServingSearch again{
      .limits = search.limits, .threads = search.threads, .deterministic = search.deterministic};
  again.limits.nodes -= std::min(again.limits.nodes, result.stats.nodes);
  const ServingResult best = Finder(task, again).run();
  if (best.status == SearchStatus::Infeasible) return;
  result.status = SearchStatus::NoSolution;
  result.stopped_by = best.stopped_by;
  if (best.deployment && best.figures) result.at_low = FrontPoint{*best.deployment, *best.figures};
}

}  // namespace

bool has_low_end(const Task& task) {
  return task.level != memory::Level::Low &&
         std::any_of(task.pools.begin(), task.pools.end(),
                     [](const Pool& pool) { return pool.server || pool.is_guessed(); });
}

ServingResult find_deployment(const Task& task, const ServingSearch& search) {
  ServingResult result = Finder(task, search).run();
  if (result.status == SearchStatus::Infeasible) add_at_low(task, search, result);
  if (result.deployment && task.framework) add_any_framework(task, search, result);
  return result;
}

}  // namespace dfsearch::serving
