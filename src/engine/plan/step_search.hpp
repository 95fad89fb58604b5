#pragma once
// The search for the best steps: the best one, then the best one with degrees that no earlier
// answer has.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "engine/plan/step_rules.hpp"
#include "engine/search_result.hpp"
#include "engine/tree/open_nodes.hpp"
#include "engine/tree/tree_search.hpp"

namespace dfsearch {

/// The state from which an interrupted search continues: the content of a checkpoint.
struct StepState {
  /// The best step of a parallelism for which the search is over.
  struct Finished {
    Decisions decisions;
    Score lower_bound{};
  };
  std::vector<Finished> finished;  ///< best first

  // The tree that searches the next answer.
  using Entry = OpenNodes<PlanNode>::Entry;
  bool begun = false;  ///< else `open` stands for the root
  std::vector<Entry> open;
  std::optional<Decisions> incumbent;
  char found_by = ' ';

  SearchStats stats;  ///< of all runs together
  std::int64_t measured = 0;
  std::int64_t evaluated = 0;
};

struct StepSearch {
  Limits limits{};  ///< of the whole search, the counting included
  int threads = 1;
  /// Expands the same nodes in the same order for any number of threads.
  bool deterministic = false;
  std::int64_t top = 1;       ///< number of parallelisms, each with its best step
  bool count = false;         ///< count the steps that fit
  bool floors = true;         ///< close nodes by floors; else only memory closes nodes
  bool robust = false;        ///< also find the plan of least regret; the task must have a stack
  bool any_framework = true;  ///< also find the best plan of any framework if the task has one
  /// First incumbent; dropped if it does not fit.
  std::optional<Decisions> hint = std::nullopt;

  // The listeners, as in SearchOptions: if one of them throws, the search continues without calling
  // any of them.

  /// Called once a `progress_interval` from a thread of its own; in deterministic mode once every
  /// `progress_nodes`.
  std::function<void(const Progress&)> on_progress = nullptr;
  Seconds progress_interval{1.0};
  std::int64_t progress_nodes = 1024;
  /// Called at every better step, from any thread, never twice at once nor with `on_progress`.
  std::function<void(const Progress&, const Decisions&)> on_incumbent = nullptr;
  /// Called by the thread that searches, now and then and at the end.
  std::function<void(const StepState&)> on_checkpoint = nullptr;
  Seconds checkpoint_interval{0.5};
  /// The search continues from this state and consumes it; null: it begins at the root.
  StepState* resume = nullptr;
};

/// The best step found.
struct StepAnswer : Proof {
  std::optional<Decisions> decisions;
  Score cost = Score::infinity();
};

struct StepSearchReport : SearchReport {
  std::int64_t measured = 0;   ///< steps, without their last decisions, whose memory was computed
  std::int64_t evaluated = 0;  ///< steps whose time was computed
  std::optional<std::int64_t> candidates;  ///< nothing if a limit ended the count
  std::optional<std::int64_t> feasible;    ///< likewise; nothing if not requested
};

struct StepAnswers : StepSearchReport {
  std::vector<StepAnswer> list;  ///< best first, at least one, at most `top`
};

/// Puts the answers into a result of plans or executions: a Found with alternatives.  `decide` sets
/// the decisions and the cost of a Found.
template <class Found, class Result, class Decide>
void put_answers(StepAnswers answers, Result& result, const Decide& decide) {
  const auto typed = [&](const StepAnswer& answer) {
    Found found;
    static_cast<Proof&>(found) = static_cast<const Proof&>(answer);
    if (answer.decisions) decide(answer, found);
    return found;
  };
  static_cast<Found&>(result) = typed(answers.list.front());
  for (std::size_t i = 1; i < answers.list.size(); ++i) {
    result.alternatives.push_back(typed(answers.list[i]));
  }
  static_cast<StepSearchReport&>(result) = std::move(answers);
}

/// Finds the best steps.  Throws InputError for a state to resume that belongs to other rules.
StepAnswers find_steps(const StepRules& rules, const StepSearch& search);

}  // namespace dfsearch
