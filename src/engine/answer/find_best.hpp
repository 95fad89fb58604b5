#pragma once
// One answer: the best mapping over the parallelisms that are not excluded, any of several.

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
  /// The least bounds of open nodes at the point of the solution and of all others; infinite: there
  /// are none below its cost.
  Score open_at_point = Score::infinity();
  Score open_elsewhere = Score::infinity();
  std::shared_ptr<const void> left;  ///< open nodes; destroying them takes long
  /// The deadline passed before the tree could go on with the state, which was used up: the file
  /// that was read is still the better checkpoint.
  bool state_is_lost = false;
};

/// How hard the search tries.
struct BestEffort {
  int rank = 1;
  Limits limits{};
  bool deterministic = false;
  MemoryBudget* memory = nullptr;  ///< the budget of `problem`
};

/// Searches `problem`.  The search begins at `state` and updates it: on return it has the nodes,
/// incumbent and counters with which to continue, but the nodes only if there is a `checkpoint`,
/// which is called while it is up to date.  The deadlines of `problem` and `effort` are the same;
/// once it has passed, the result has the answer found before.
BestAnswer find_best(const MappingProblem& problem, const SearchOptions& options,
                     const BestEffort& effort, SearchMonitor& monitor, SearchState& state,
                     const std::function<void()>& checkpoint);

}  // namespace dfsearch
