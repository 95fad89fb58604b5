// Two trees (docs/search.md, section 7).  The first one drops equal bounds and
// proves the optimum.  The second one knows the optimum and nothing else of the
// first; it works in deterministic rounds with a fixed effort, so that the answer
// is a function of the problem, not of timing.  Where it finds nothing, the first
// one is grown again in such rounds, and ties are looked for at the point it ends at.

#include "engine/answer/find_best.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.hpp"
#include "engine/answer/restored_nodes.hpp"

namespace dfsearch {
namespace {

static_assert(SearchProblem<MappingProblem>);
using Tree = BranchAndBound<MappingProblem>;
using Reached = BranchAndBoundResult<MappingSolution>;

// Effort to spend on ties, in nodes, and the steps of an enumeration that make
// one there: together a few seconds at most.
constexpr std::int64_t kTieNodes = 20'000;
constexpr std::int64_t kKernelsOfTieNode = 32;  // of more kernels they take longer
constexpr std::int64_t kStepsPerTieNode = 100;
constexpr std::int64_t kTimesOfShardingNode = 16;  // as long as one of a fusion, or longer

class BestSearch {
 public:
  BestSearch(const MappingProblem& problem, const SearchOptions& options, const BestEffort& effort,
             SearchMonitor& monitor, SearchState& state)
      : problem_(problem),
        options_(options),
        effort_(effort),
        monitor_(monitor),
        state_(state),
        before_(state.stats) {}

  BestFound run(const std::function<void()>& checkpoint) {
    BestFound found = prove(checkpoint);
    if (found.first_of_ties || !found.solution) return found;
    if (!(found.lower_bound == found.solution->cost) || options_.any_of_best) return found;
    try {
      break_ties(found);
    } catch (const Stopped&) {
      found.stopped_by = stop_reason(effort_.limits.deadline);
    }
    return found;
  }

 private:
  /// The first tree.
  BestFound prove(const std::function<void()>& checkpoint) {
    Tree tree(problem_, {.limits = effort_.limits,
                         .threads = options_.threads,
                         .deterministic = effort_.deterministic,
                         .checkpoint_interval = options_.checkpoint_interval,
                         .ties = false,
                         .floor = state_.floor,
                         .memory = effort_.memory});
    tree.on_incumbent([this](const Progress& progress, const MappingSolution& solution) {
      if (!options_.on_incumbent) return;
      monitor_.tell(progress, [&](const Progress& total) {
        options_.on_incumbent(total, problem_.mapping(solution));
      });
    });
    tree.on_round([this] { monitor_.after_round(); });
    const Watched watched(
        monitor_, [&tree] { return tree.progress(); }, effort_.rank, before_.nodes);
    try {
      start(tree);
    } catch (const Stopped&) {
      return as_resumed();
    }
    if (checkpoint) {
      tree.on_checkpoint([&](std::vector<Tree::Entry>& open) {
        keep(tree.result());
        state_.open.swap(open);
        checkpoint();
        state_.open.swap(open);
      });
    }
    const auto result = tree.run();
    keep(result);
    state_.open = tree.take_open();
    return {.solution = result.solution,
            .lower_bound = result.lower_bound,
            .stopped_by = result.stopped_by,
            .first_of_ties = state_.first_of_ties};
  }

  /// Gives the tree what is known beforehand.
  void start(Tree& tree) {
    if (options_.hint && !state_.first_of_ties) {
      if (auto hint = problem_.solution(*options_.hint)) tree.start_from(std::move(*hint), 'H');
    }
    if (options_.debug_solution) {
      if (auto known = problem_.solution(*options_.debug_solution)) {
        tree.check_against(std::move(*known));
      }
    }
    if (state_.incumbent) {
      // Costed anew: what a file says is not believed.
      auto incumbent = problem_.solution(problem_.mapping(*state_.incumbent));
      if (!incumbent) throw InputError("a mapping of the checkpoint does not fit the problem");
      if (incumbent->cost < state_.floor) {
        throw InputError("the checkpoint is damaged: a mapping costs less than a bound says");
      }
      tree.resume_from(std::move(*incumbent), state_.found_by);
    }
    if (state_.begun) {
      restore_nodes(problem_, state_.open);
      tree.resume_from(std::exchange(state_.open, {}));
    }
  }

  /// Nothing but what the state says.
  [[nodiscard]] BestFound as_resumed() const {
    BestFound found{.lower_bound = least_open_bound(state_),
                    .stopped_by = stop_reason(effort_.limits.deadline),
                    .state_is_lost = true};
    if (!state_.incumbent) return found;
    // Of a mapping that was read its cost is not known yet.
    if (auto solution = problem_.solution(problem_.mapping(*state_.incumbent))) {
      found.lower_bound = std::min(found.lower_bound, solution->cost);
      found.solution = std::make_shared<const MappingSolution>(std::move(*solution));
    }
    return found;
  }

  /// Brings the state up to date, the open nodes aside.
  void keep(const BranchAndBoundResult<MappingSolution>& result) {
    state_.begun = true;
    if (result.lower_bound < Score::infinity()) {
      state_.floor = std::max(state_.floor, result.lower_bound);
    }
    state_.found_by = result.found_by;
    if (result.solution) state_.incumbent = *result.solution;
    SearchStats& stats = state_.stats;
    stats = before_;
    stats.add_counts(result.stats);
    stats.proof_nodes += result.stats.nodes;
    stats.proof_time += result.stats.time;
    SearchStats of_problem;
    problem_.add_stats(of_problem);
    stats.add_counts(of_problem);
    if (effort_.rank == 1 && result.stats.best_incumbent < Seconds::infinity()) {
      const Seconds begin = monitor_.total_time() - result.stats.time;
      stats.first_incumbent = std::min(stats.first_incumbent, begin + result.stats.first_incumbent);
      stats.best_incumbent = begin + result.stats.best_incumbent;
    }
    stats.threads = std::max(stats.threads, result.stats.threads);
    stats.time = monitor_.total_time();
  }

  /// Replaces a best mapping by the first of the best in the order of ties.
  ///
  /// The optimum is proved by now; further trees, deterministic ones, look for mappings that reach
  /// it, and know of the first tree only the optimum itself.  Where the ties are too many, the best
  /// after a fixed number of nodes is taken.  Where there is none by then, a tree like the first
  /// one ends at some point that reaches it, and the best of that point is taken.  So the answer
  /// depends on nothing but the problem.
  void break_ties(BestFound& found) {
    optimum_ = found.solution->cost;
    NodeEffort small = options_.node_effort;
    small.steps = kStepsPerTieNode;
    const std::int64_t nodes = tie_nodes();
    Reached first = first_of(problem_.for_ties(small), nodes, nullptr);
    if (!first.solution && first.stopped_by == StopReason::Nodes) {
      first = any_of(problem_.again(options_.node_effort));
      if (const auto any = first.solution; reaches_optimum(any)) {
        first = first_of(problem_.for_ties(small, any->point), nodes, any);
      }
    }
    // A tree like the first one that was stopped may have got no further than something worse.
    if (reaches_optimum(first.solution)) found.solution = first.solution;
    found.first_of_ties =
        first.stopped_by == StopReason::None || first.stopped_by == StopReason::Nodes;
    // A limit that came together with the proof has stopped nothing after all.
    found.stopped_by = found.first_of_ties ? StopReason::None : first.stopped_by;
    state_.incumbent = *found.solution;
    state_.first_of_ties = found.first_of_ties;
  }

  [[nodiscard]] bool reaches_optimum(const std::shared_ptr<const MappingSolution>& known) const {
    return known && known->cost == optimum_;
  }

  /// As many as take about as long whatever the graph and whether its sharding is open.
  [[nodiscard]] std::int64_t tie_nodes() const {
    const Problem& problem = problem_.problem();
    const auto kernels = static_cast<std::int64_t>(problem.workload.graph.kernel_count());
    const std::int64_t usual = std::max(kernels, kKernelsOfTieNode);
    const bool bounds_shardings = problem.sharding == ShardingChoice::Joint &&
                                  problem.execution.style == Style::Dataflow &&
                                  problem.system.chips > 1;
    return kTieNodes * (kKernelsOfTieNode * kKernelsOfTieNode) / (usual * usual) /
           (bounds_shardings ? kTimesOfShardingNode : 1);
  }

  /// The first of those that reach the optimum; `known` is one of them, or null.
  Reached first_of(const MappingProblem& problem, std::int64_t nodes,
                   const std::shared_ptr<const MappingSolution>& known) {
    Tree tree(problem, {.limits = without_gap(nodes),
                        .threads = options_.threads,
                        .deterministic = true,
                        .cutoff = optimum_,
                        .memory = effort_.memory});
    if (known) tree.resume_from(MappingSolution(*known), ' ');
    return grown(tree);
  }

  /// Like the first tree; duals, a function of their point, are known from there.
  Reached any_of(const MappingProblem& problem) {
    Tree tree(problem, {.limits = without_gap(Limits{}.nodes),
                        .threads = options_.threads,
                        .deterministic = true,
                        .ties = false,
                        .floor = optimum_,
                        .memory = effort_.memory});
    return grown(tree);
  }

  [[nodiscard]] Limits without_gap(std::int64_t nodes) const {
    Limits limits = effort_.limits;
    limits.gap = 0.0;
    limits.nodes = nodes;
    return limits;
  }

  Reached grown(Tree& tree) {
    tree.on_round([this] { monitor_.after_round(); });
    const Watched watched(
        monitor_,
        [&tree, this] {
          Progress progress = tree.progress();
          progress.incumbent = optimum_;
          progress.lower_bound = optimum_;
          return progress;
        },
        effort_.rank, state_.stats.nodes);
    Reached result = tree.run();
    result.stats.incumbents = 0;  // none of them is better
    state_.stats.add_counts(result.stats);
    state_.stats.time = monitor_.total_time();
    return result;
  }

  const MappingProblem& problem_;
  const SearchOptions& options_;
  const BestEffort& effort_;
  SearchMonitor& monitor_;
  SearchState& state_;
  const SearchStats before_;
  Score optimum_{};  // once it is proved
};

}  // namespace

BestFound find_best(const MappingProblem& problem, const SearchOptions& options,
                    const BestEffort& effort, SearchMonitor& monitor, SearchState& state,
                    const std::function<void()>& checkpoint) {
  return BestSearch(problem, options, effort, monitor, state).run(checkpoint);
}

}  // namespace dfsearch
