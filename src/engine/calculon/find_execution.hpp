#pragma once
// The search for the best execution: the one public entry of this room.

#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "engine/calculon/count_executions.hpp"
#include "engine/calculon/execution_space.hpp"
#include "engine/plan/step_search.hpp"
#include "engine/search_result.hpp"
#include "engine/tree/search_stats.hpp"
#include "model/calculon/evaluate.hpp"
#include "model/scope.hpp"

namespace dfsearch::calculon {

/// The best execution found.
struct FoundExecution : Certainty {
  std::optional<Execution> execution;
  std::optional<Cost> cost;
};

struct ExecutionResult : FoundExecution, StepsEnd {
  std::vector<FoundExecution> alternatives;  ///< with other degrees, best first
  std::optional<NearestMisfit> misfit;       ///< for Infeasible, unless there is no candidate
};

/// The winner is costed again by `evaluate`; a difference is an InternalError.
ExecutionResult find_execution(const Task& task, const StepSearch& search);

}  // namespace dfsearch::calculon
