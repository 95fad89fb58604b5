#pragma once
// The search for the best execution, the judgement of a given one, and the count of all: the public
// entry of this folder.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "base/units.hpp"
#include "engine/calculon/execution_space.hpp"
#include "engine/plan/step_search.hpp"
#include "engine/search_result.hpp"
#include "engine/tree/tree_search.hpp"
#include "model/calculon/evaluate.hpp"
#include "model/ruled_out.hpp"
#include "model/scope.hpp"

namespace dfsearch::calculon {

/// The decisions that the choices of the task do not allow.
RuledOut ruled_out(const Task& task, const Execution& execution);

/// True if the search may find the execution.
bool is_searched(const Task& task, const Execution& execution);

/// The number of executions to choose from, the greatest integer if there are more.  Throws
/// Stopped when the deadline has passed.
std::int64_t count_candidates(const Task& task, const Deadline& deadline);

/// The number of executions that fit.  Memory does not depend on networks, so counts are multiplied
/// by the number of networks.  Throws Stopped.
std::int64_t count_feasible(const Task& task, const Deadline& deadline);

/// The execution that is the nearest to fitting, and the reason why it does not fit.
struct NearestMisfit {
  Execution execution;
  Misfit misfit;
};

/// The nearest misfit of a task without a fitting execution; nothing if there is no candidate at
/// all.  An execution that fits in memory is nearer than any that does not; then the least ratio of
/// need to capacity decides, then the order of ties.  Throws Stopped.
std::optional<NearestMisfit> nearest_misfit(const Task& task, const Deadline& deadline);

struct FoundExecution : Proof {
  std::optional<Execution> execution;
  std::optional<Cost> cost;
};

struct ExecutionResult : FoundExecution, StepSearchReport {
  std::vector<FoundExecution> alternatives;  ///< with other degrees, best first
  std::optional<NearestMisfit> misfit;       ///< for Infeasible, unless there is no candidate
};

/// The winner is costed again by `evaluate`; a difference is an InternalError.
ExecutionResult find_execution(const Task& task, const StepSearch& search);

}  // namespace dfsearch::calculon
