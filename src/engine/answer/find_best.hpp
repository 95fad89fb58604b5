#pragma once
// Search for one answer: a best mapping over the parallelisms that are not excluded.

#include <functional>
#include <memory>

#include "engine/answer/search_state.hpp"
#include "engine/mapping/mapping_problem.hpp"
#include "engine/search_options.hpp"
#include "engine/tree/branch_and_bound.hpp"
#include "engine/tree/search_monitor.hpp"

namespace dfsearch {

/// Result of the search for one answer.
struct BestAnswer {
  std::shared_ptr<const MappingSolution> solution;  ///< null: none was found
  Score lower_bound{};
  StopReason stopped_by = StopReason::None;  ///< before the proof
  /// Least bound of the open nodes at the point of the solution, and of all other open nodes;
  /// infinite if none is below its cost.
  Score open_at_point = Score::infinity();
  Score open_elsewhere = Score::infinity();
  std::shared_ptr<const void> left;  ///< open nodes; destroying them takes long
  /// The deadline passed before the tree could continue from the state, which is lost: the file
  /// that was read remains the better checkpoint.
  bool state_is_lost = false;
};

/// Limits and means of the search.
struct BestEffort {
  int rank = 1;
  Limits limits{};
  bool deterministic = false;
  MemoryBudget* memory = nullptr;  ///< the budget of `problem`
};

/// Searches `problem`.  The search begins at `state` and updates it: on return it has the incumbent
/// and counters with which to continue and, if there is a `checkpoint`, the open nodes.
/// `checkpoint` is called whenever the state is up to date.  `problem` and `effort` have the same
/// deadline; once it has passed, the result is the answer found before.
BestAnswer find_best(const MappingProblem& problem, const SearchOptions& options,
                     const BestEffort& effort, SearchMonitor& monitor, SearchState& state,
                     const std::function<void()>& checkpoint);

}  // namespace dfsearch
