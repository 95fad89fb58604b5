#include "engine/answer/find_best.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "engine/answer/restored_nodes.hpp"

namespace dfsearch {
namespace {

static_assert(SearchProblem<MappingProblem>);
using Tree = BranchAndBound<MappingProblem>;

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

  BestAnswer run(const std::function<void()>& checkpoint) {
    Tree tree(problem_, {.limits = effort_.limits,
                         .threads = options_.threads,
                         .deterministic = effort_.deterministic,
                         .checkpoint_interval = options_.checkpoint_interval,
                         .floor = state_.floor,
                         .memory = effort_.memory});
    tree.on_incumbent([this](const Progress& progress, const MappingSolution& solution) {
      if (!options_.on_incumbent) return;
      monitor_.report(progress, [&](const Progress& total) {
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
    BestAnswer found{.solution = result.solution,
                     .lower_bound = result.lower_bound,
                     .stopped_by = result.stopped_by};
    if (result.solution && result.stopped_by != StopReason::None) bound_open(tree, found);
    // Sorting many nodes takes long, and only a checkpoint needs them.
    if (checkpoint) {
      state_.open = tree.take_open();
    } else {
      found.left = tree.leave_open();
    }
    return found;
  }

 private:
  static void bound_open(const Tree& tree, BestAnswer& found) {
    const OuterPoint point = found.solution->point;
    const Score cost = found.solution->cost;
    tree.for_each_open([&](Score bound, const Tree::Entry& entry) {
      // Most nodes lower neither minimum, and reading them would take long.
      if (bound >= cost || bound >= std::max(found.open_at_point, found.open_elsewhere)) return;
      Score& least = entry.node.point == point ? found.open_at_point : found.open_elsewhere;
      least = std::min(least, bound);
    });
  }

  /// Gives the tree its first incumbents and open nodes.
  void start(Tree& tree) {
    if (options_.hint) {
      if (auto hint = problem_.solution(*options_.hint)) tree.start_from(std::move(*hint), 'H');
    }
    if (options_.debug_solution) {
      if (auto known = problem_.solution(*options_.debug_solution)) {
        tree.check_against(std::move(*known));
      }
    }
    if (state_.incumbent) {
      // Costed anew, since the cost in the file may be wrong.
      auto incumbent = problem_.solution(problem_.mapping(*state_.incumbent));
      if (!incumbent) throw InputError("a mapping of the checkpoint does not fit the problem");
      if (incumbent->cost < state_.floor) {
        throw InputError("the checkpoint is damaged: a mapping costs less than a lower bound");
      }
      tree.resume_from(std::move(*incumbent), state_.found_by);
    }
    if (state_.begun) {
      restore_nodes(problem_, state_.open);
      tree.resume_from(std::exchange(state_.open, {}));
    }
  }

  /// The contents of the state, without a search.
  [[nodiscard]] BestAnswer as_resumed() const {
    BestAnswer found{.lower_bound = least_open_bound(state_),
                     .stopped_by = stop_reason(effort_.limits.deadline),
                     .state_is_lost = true};
    if (!state_.incumbent) return found;
    // The cost of a mapping read from a file is not known yet.
    if (auto solution = problem_.solution(problem_.mapping(*state_.incumbent))) {
      found.lower_bound = std::min(found.lower_bound, solution->cost);
      found.solution = std::make_shared<const MappingSolution>(std::move(*solution));
    }
    return found;
  }

  /// Brings the state up to date, except for the open nodes.
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
    SearchStats of_problem;
    problem_.add_stats(of_problem);
    stats.add_counts(of_problem);
    stats.threads = std::max(stats.threads, result.stats.threads);
    stats.time = monitor_.total_time();
    if (effort_.rank > 1) return;
    stats.proof_nodes += result.stats.nodes;
    stats.proof_time += result.stats.time;
    if (result.stats.best_incumbent < Seconds::infinity()) {
      const Seconds begin = monitor_.total_time() - result.stats.time;
      stats.first_incumbent = std::min(stats.first_incumbent, begin + result.stats.first_incumbent);
      stats.best_incumbent = begin + result.stats.best_incumbent;
    }
  }

  const MappingProblem& problem_;
  const SearchOptions& options_;
  const BestEffort& effort_;
  SearchMonitor& monitor_;
  SearchState& state_;
  const SearchStats before_;
};

}  // namespace

BestAnswer find_best(const MappingProblem& problem, const SearchOptions& options,
                     const BestEffort& effort, SearchMonitor& monitor, SearchState& state,
                     const std::function<void()>& checkpoint) {
  return BestSearch(problem, options, effort, monitor, state).run(checkpoint);
}

}  // namespace dfsearch
