#pragma once
// The one public entry of the search.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "engine/feasible_change.hpp"
#include "engine/limits.hpp"
#include "engine/search_bounds.hpp"
#include "engine/search_stats.hpp"
#include "model/evaluate.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

enum class SearchStatus : std::uint8_t {
  Optimal,     ///< proved within the gap asked for
  Feasible,    ///< stopped with a mapping
  Infeasible,  ///< proved that no mapping fits
  NoSolution,  ///< stopped without a mapping
};

/// The best mapping found and how sure it is.  `mapping` and `cost` are there for
/// Optimal and Feasible.
struct BestMapping {
  SearchStatus status = SearchStatus::NoSolution;
  StopReason stopped_by = StopReason::None;
  std::optional<Mapping> mapping;
  std::optional<Cost> cost;
  Score lower_bound{};
  Score root_bound{};  ///< of the mapping's network, tile and micro-batch, before any branching
  double gap = 0.0;    ///< (objective - lower_bound) / objective
};

/// What `solve` found: the best answer, and others with other parallelisms.
struct SearchResult : BestMapping {
  std::optional<Infeasible> infeasible;  ///< why, for Infeasible
  std::vector<FeasibleChange> changes;   ///< what would help, for Infeasible, if asked for
  std::int64_t parallelisms = 0;         ///< to choose from, before anything else is asked
  SearchBounds bounds;                   ///< that were used
  /// The best mapping with another parallelism than those before, best first.
  std::vector<BestMapping> alternatives;
  /// Proved: no parallelism beyond those fits.
  bool alternatives_complete = false;
  SearchStats stats;
};

struct SearchState;

struct SearchOptions {
  Limits limits{};  ///< of this run, over all that it searches for
  int threads = 1;  ///< at least 1; more than the machine has are not all used
  bool deterministic = false;
  NodeEffort node_effort{};
  /// That prove the optimum; the result is the same without some, only later.
  SearchBounds bounds{};
  std::optional<Mapping> hint = std::nullopt;  ///< first incumbent; dropped if it does not fit
  /// For tests of developer builds: no node that holds it may have a bound above its
  /// cost, or InternalError is thrown.
  std::optional<Mapping> debug_solution = std::nullopt;
  /// So many parallelisms, each with its own best mapping.
  std::int64_t top = 1;
  /// With `top` 1: look for the second, too, with a small effort that is fixed, so
  /// that the outcome is the same every time.
  bool next_best = false;

  /// Of a problem that is infeasible, find out what would make it feasible.
  bool find_changes = false;

  /// Called once a `progress_interval` from a thread of its own.
  std::function<void(const Progress&)> on_progress = nullptr;
  Seconds progress_interval{1.0};
  /// Called at every better mapping, from any thread, never together with
  /// `on_progress` or itself.
  std::function<void(const Progress&, const Mapping&)> on_incumbent = nullptr;

  /// Called by the thread of `solve`, perhaps together with the others: now and
  /// then, and at the end.
  std::function<void(const SearchState&)> on_checkpoint = nullptr;
  /// So long between two; less at the beginning, more if they would take over a
  /// twentieth of the time.
  Seconds checkpoint_interval{0.5};
  /// Goes on from there; what it holds is used up.  Null: from the beginning.
  SearchState* resume = nullptr;
};

/// Finds the mapping that minimises the objective.  No global state: several solves may
/// run at once.  Throws InputError for a problem that makes no sense and
/// InternalError when the winner does not evaluate to what the search says; what a
/// callback throws ends the search.
SearchResult solve(const Problem& problem, const SearchOptions& options);

}  // namespace dfsearch
