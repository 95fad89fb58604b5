#pragma once
// Options and result of branch and bound.

#include <cstddef>
#include <memory>

#include "base/memory_budget.hpp"
#include "base/units.hpp"
#include "engine/tree/limits.hpp"
#include "engine/tree/search_stats.hpp"

namespace dfsearch {

struct BranchAndBoundOptions {
  Limits limits{};
  int threads = 1;
  bool deterministic = false;
  /// Time between checkpoints: less at the beginning, more if they would take over
  /// a twentieth of the search.
  Seconds checkpoint_interval{0.5};
  /// Solutions above it are rejected.
  Score cutoff = Score::infinity();
  /// Known beforehand: no solution is below it.  One that reaches it ends the search.
  Score floor{};
  std::size_t open_limit = std::size_t{1} << 20;
  /// Budget of the open nodes; where it is tight the search goes on depth
  /// first.  Null: none.
  MemoryBudget* memory = nullptr;
};

template <class Solution>
struct BranchAndBoundResult {
  std::shared_ptr<const Solution> solution;  ///< null: none was found
  Score cost = Score::infinity();
  char found_by = ' ';
  /// Bound of all solutions.  Equal to `cost` when the search was completed; infinite
  /// when it was and there is no solution.
  Score lower_bound{};
  StopReason stopped_by = StopReason::None;
  SearchStats stats;
};

}  // namespace dfsearch
