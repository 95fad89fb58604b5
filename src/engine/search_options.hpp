#pragma once
// How a search is to be done, and who listens to it.

#include <cstdint>
#include <functional>
#include <optional>

#include "base/units.hpp"
#include "engine/tables/search_bounds.hpp"
#include "engine/tree/limits.hpp"
#include "engine/tree/search_stats.hpp"
#include "model/mapping.hpp"

namespace dfsearch {

struct SearchState;

struct SearchOptions {
  Limits limits{};  ///< of this run, over all that it searches for
  int threads = 1;  ///< at least 1; more than the machine has are not all used
  /// The same nodes in the same order for any number of threads, and the same calls of
  /// `on_progress` and `on_incumbent`, but for the times they tell.
  bool deterministic = false;
  NodeEffort node_effort{};
  /// That prove the optimum; the result is the same without some, only later.
  SearchBounds bounds{};
  std::optional<Mapping> hint = std::nullopt;  ///< first incumbent; dropped if it does not fit
  /// For tests of developer builds: no node that holds it may have a bound above its
  /// cost, or InternalError is thrown.
  std::optional<Mapping> debug_solution = std::nullopt;
  /// So many parallelisms, each with its own best mapping; InputError below 1.
  std::int64_t top = 1;
  /// With `top` 1: look for the second, too, with a small effort that is fixed, so
  /// that the outcome is the same every time.
  bool next_best = false;

  /// Of a problem that is infeasible, find out what would make it feasible.
  bool find_changes = false;

  // The listeners.  When one of them throws the search goes on and none is called any more; the
  // result is not lost, and SearchResult::callback_error holds what was thrown.

  /// Called once a `progress_interval` from a thread of its own.  In deterministic mode, where
  /// no clock may count, called by the thread of `solve` between two rounds, once so many nodes.
  std::function<void(const Progress&)> on_progress = nullptr;
  Seconds progress_interval{1.0};
  std::int64_t progress_nodes = 1024;
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

}  // namespace dfsearch
