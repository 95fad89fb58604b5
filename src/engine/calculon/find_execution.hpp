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

/// The best execution found and how sure it is: SearchStatus::Optimal within the gap asked for.
struct FoundExecution {
  SearchStatus status = SearchStatus::NoSolution;
  StopReason stopped_by = StopReason::None;
  std::optional<Execution> execution;
  std::optional<Cost> cost;
  Score lower_bound{};
  double gap = 0.0;
};

struct ExecutionResult : FoundExecution {
  Scope scope;  ///< what was fixed beforehand: the proof is for that alone
  std::vector<FoundExecution> alternatives;  ///< with other degrees, best first
  bool alternatives_complete = false;        ///< no parallelism beyond those fits
  std::optional<NearestMisfit> misfit;       ///< for Infeasible, unless there is no candidate
  std::optional<std::int64_t> candidates;    ///< nothing where the limits came first
  std::optional<std::int64_t> feasible;      ///< likewise, and where nobody asked
  std::int64_t evaluated = 0;                ///< executions whose step time was computed
  std::int64_t measured = 0;                 ///< executions whose memory was computed
  SearchStats stats;
  std::exception_ptr callback_error;  ///< what a listener threw first; null: none did
};

/// The winner is costed again by `evaluate`; a difference is an InternalError.
ExecutionResult find_execution(const Task& task, const StepSearch& search);

}  // namespace dfsearch::calculon
