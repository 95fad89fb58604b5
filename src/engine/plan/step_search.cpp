// One tree after the other (docs/search.md, section 13), each without the degrees of earlier
// answers.  An interrupted search leaves the open nodes of its last tree, the incumbent and the
// earlier answers.

#include "engine/plan/step_search.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/memory_budget.hpp"
#include "engine/plan/plan_tree.hpp"
#include "engine/tree/branch_and_bound.hpp"
#include "engine/tree/search_monitor.hpp"

namespace dfsearch {
namespace {

static_assert(CheckableProblem<PlanTree>);
using StepTree = BranchAndBound<PlanTree>;
using Found = BranchAndBoundResult<PlanSolution>;

class StepFinder {
 public:
  StepFinder(const StepRules& rules, const StepSearch& search)
      : rules_(rules),
        search_(search),
        memory_(search.limits.memory),
        monitor_(listening(search), search.resume ? search.resume->stats : SearchStats{}) {
    if (search.resume != nullptr) state_ = std::move(*search.resume);
    nodes_before_ = state_.stats.nodes;
    measured_before_ = state_.measured;
    evaluated_before_ = state_.evaluated;
  }

  StepAnswers run() {
    take_finished();
    const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(1, search_.top));
    while (answers_.list.size() < wanted && find_next()) {
    }
    report_checkpoint();
    monitor_.stop();
    answers_.measured = state_.measured;
    answers_.evaluated = state_.evaluated;
    answers_.stats = state_.stats;
    answers_.stats.time = monitor_.total_time();
    answers_.callback_error = monitor_.callback_error();
    return std::move(answers_);
  }

 private:
  /// Takes the answers of an earlier run.  An answer whose gap is larger than this run allows is
  /// searched again, from its step.
  void take_finished() {
    for (std::size_t i = 0; i < state_.finished.size(); ++i) {
      const StepState::Finished& old = state_.finished[i];
      const Score cost = cost_of(old.decisions);
      if (!(old.lower_bound >= Score{} && old.lower_bound <= cost)) {
        throw InputError("the checkpoint is damaged: answer " + std::to_string(i + 1) +
                         " has a bound above its cost");
      }
      if (relative_gap(cost, old.lower_bound) > search_.limits.gap) {
        state_.incumbent = old.decisions;
        state_.begun = false;
        state_.open.clear();
        state_.finished.resize(i);
        return;
      }
      add({{.status = SearchStatus::Optimal,
            .lower_bound = old.lower_bound,
            .gap = relative_gap(cost, old.lower_bound)},
           old.decisions,
           cost});
    }
  }

  /// The cost of decisions from a file.
  [[nodiscard]] Score cost_of(const Decisions& decisions) const {
    const std::optional<Score> cost = rules_.cost(decisions);
    if (!cost) throw InputError("a step of the checkpoint does not fit the problem");
    return *cost;
  }

  /// Finds one more answer; returns false if it is the last one to find.
  bool find_next() {
    const bool is_first = answers_.list.empty();
    const Found found = search_tree();
    StepAnswer answer{{.stopped_by = found.stopped_by, .lower_bound = found.lower_bound}};
    if (found.solution) {
      answer.decisions = found.solution->decisions;
      answer.cost = found.cost;
      answer.gap = relative_gap(found.cost, found.lower_bound);
      const bool near = answer.gap <= search_.limits.gap;
      answer.status = near ? SearchStatus::Optimal : SearchStatus::Feasible;
    } else if (found.stopped_by == StopReason::None) {
      answer.status = SearchStatus::Infeasible;
    }
    if (answer.status == SearchStatus::Infeasible && !is_first) {
      answers_.alternatives_complete = true;
      return false;
    }
    const bool is_proved = answer.status == SearchStatus::Optimal;
    const bool is_last = static_cast<std::int64_t>(answers_.list.size()) + 1 == search_.top;
    add(std::move(answer));
    if (!is_proved || is_last) return false;
    const StepAnswer& last = answers_.list.back();
    if (last.stopped_by != StopReason::None) {
      // The proof is within the allowed gap, but not all equal costs are compared: a resumed search
      // continues this tree, and nothing is known of the next answer.
      answers_.list.push_back({{.stopped_by = last.stopped_by, .lower_bound = last.lower_bound}});
      return false;
    }
    state_.finished.push_back({.decisions = *last.decisions, .lower_bound = last.lower_bound});
    state_.begun = false;
    state_.open.clear();
    state_.incumbent.reset();
    return true;
  }

  void add(StepAnswer answer) {
    if (answer.decisions) {
      const auto end = static_cast<std::ptrdiff_t>(rules_.degrees());
      excluded_.emplace_back(answer.decisions->begin(), answer.decisions->begin() + end);
    }
    answers_.list.push_back(std::move(answer));
  }

  Found search_tree() {
    const PlanTree problem(rules_, excluded_, search_.floors, search_.limits.deadline);
    before_ = state_.stats;
    Limits limits = search_.limits;
    limits.nodes -= before_.nodes - nodes_before_;
    StepTree tree(problem, {.limits = limits,
                            .threads = search_.threads,
                            .deterministic = search_.deterministic,
                            .checkpoint_interval = search_.checkpoint_interval,
                            .memory = &memory_});
    start(tree, problem);
    if (search_.on_incumbent) {
      tree.on_incumbent([this](const Progress& progress, const PlanSolution& solution) {
        monitor_.report(progress, [&](const Progress& total) {
          search_.on_incumbent(total, solution.decisions);
        });
      });
    }
    tree.on_round([this] { monitor_.after_round(); });
    if (search_.on_checkpoint) {
      tree.on_checkpoint([&](std::vector<StepTree::Entry>& open) {
        keep(tree.result());
        state_.open.swap(open);
        report_checkpoint();
        state_.open.swap(open);
      });
    }
    const auto rank = static_cast<int>(answers_.list.size()) + 1;
    const Watched watched(
        monitor_, [&tree] { return tree.progress(); }, rank, before_.nodes);
    Found found = tree.run();
    keep(found);
    state_.open = tree.take_open();
    return found;
  }

  /// Gives the tree the known steps.
  void start(StepTree& tree, const PlanTree& problem) {
    if (search_.hint && excluded_.empty()) {
      if (const auto cost = rules_.cost(*search_.hint)) {
        tree.start_from({.decisions = *search_.hint, .cost = *cost}, 'H');
      }
    }
    if (state_.incumbent) {
      // Costs are computed anew: a file is not trusted.
      PlanSolution incumbent{.decisions = *state_.incumbent, .cost = cost_of(*state_.incumbent)};
      if (!problem.excludes(incumbent.decisions))
        tree.resume_from(std::move(incumbent), state_.found_by);
    }
    if (!state_.begun) return;
    for (const StepState::Entry& entry : state_.open) {
      if (!rules_.has(entry.node)) {
        throw InputError("the checkpoint is damaged: an open node does not belong to the problem");
      }
    }
    tree.resume_from(std::exchange(state_.open, {}));
  }

  /// Brings the state up to date, except for the open nodes.
  void keep(const Found& found) {
    state_.begun = true;
    state_.found_by = found.found_by;
    if (found.solution) state_.incumbent = found.solution->decisions;
    state_.measured = measured_before_ + rules_.measured();
    state_.evaluated = evaluated_before_ + rules_.evaluated();
    SearchStats& stats = state_.stats;
    stats = before_;
    stats.add_counts(found.stats);
    stats.threads = found.stats.threads;
    stats.time = monitor_.total_time();
    if (!answers_.list.empty()) return;
    stats.proof_nodes += found.stats.nodes;
    stats.proof_time += found.stats.time;
    if (found.stats.best_incumbent < Seconds::infinity()) {
      const Seconds begin = monitor_.total_time() - found.stats.time;
      stats.first_incumbent = std::min(stats.first_incumbent, begin + found.stats.first_incumbent);
      stats.best_incumbent = begin + found.stats.best_incumbent;
    }
  }

  void report_checkpoint() {
    if (!search_.on_checkpoint) return;
    monitor_.call_unlocked([this] { search_.on_checkpoint(state_); });
  }

  const StepRules& rules_;
  const StepSearch& search_;
  MemoryBudget memory_;
  StepState state_;
  SearchMonitor monitor_;
  StepAnswers answers_;
  std::vector<Decisions> excluded_;  // the degrees of the answers
  SearchStats before_;               // of the trees before, and of earlier runs
  std::int64_t nodes_before_ = 0;    // by earlier runs
  std::int64_t measured_before_ = 0;
  std::int64_t evaluated_before_ = 0;
};

}  // namespace

StepAnswers find_steps(const StepRules& rules, const StepSearch& search) {
  return StepFinder(rules, search).run();
}

}  // namespace dfsearch
