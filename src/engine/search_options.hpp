#pragma once
// Options and listeners of a search.

#include <cstdint>
#include <functional>
#include <optional>

#include "base/units.hpp"
#include "engine/tables/search_bounds.hpp"
#include "engine/tree/tree_search.hpp"
#include "model/mapping.hpp"

namespace dfsearch {

struct SearchState;

struct SearchOptions {
  Limits limits{};  ///< of this run, further searches (`top`, `next_best`, ...) included
  int threads = 1;  ///< at least 1; more threads than the machine has are not all used
  /// Any number of threads expands the same nodes in the same order, finds the same one of equally
  /// good answers, and makes the same calls of `on_progress` and `on_incumbent`, except for their
  /// times.
  bool deterministic = false;
  NodeEffort node_effort{};
  /// The bounds that prove the optimum; with fewer bounds the result is the same, but later.
  SearchBounds bounds{};
  std::optional<Mapping> hint = std::nullopt;  ///< first incumbent; ignored if it does not fit
  /// For tests of developer builds: a node that contains this mapping and has a bound above its
  /// cost throws InternalError.
  std::optional<Mapping> debug_solution = std::nullopt;
  /// Number of best parallelisms to find, each with its best mapping; InputError below 1.
  std::int64_t top = 1;
  /// If `top` is 1, also search the second best parallelism, with a small, fixed effort, so that
  /// the outcome is the same every time.
  bool next_best = false;

  /// If a decision was fixed before the search, also search its other values, with a small, fixed
  /// effort (SearchResult::beyond_scope).
  bool beyond_scope = false;

  /// If the problem is infeasible, find changes that would make it feasible.
  bool find_changes = false;

  // The listeners.  If one of them throws, the search continues without calling any of them, and
  // SearchResult::callback_error has the exception.

  /// Called once a `progress_interval` by a thread of its own.  In deterministic mode, which reads
  /// no clock, called by the thread of `solve` between two rounds, once every `progress_nodes`
  /// nodes.
  std::function<void(const Progress&)> on_progress = nullptr;
  Seconds progress_interval{1.0};
  std::int64_t progress_nodes = 1024;
  /// Called at every better mapping, by any thread, never at the same time as `on_progress` or
  /// another call of itself.
  std::function<void(const Progress&, const Mapping&)> on_incumbent = nullptr;

  /// Called by the thread of `solve` every `checkpoint_interval` and at the end, possibly at the
  /// same time as the other listeners.  The search owns the nodes of the state: a copy of the state
  /// must be destroyed before SearchReport::leftovers.
  std::function<void(const SearchState&)> on_checkpoint = nullptr;
  /// The time between two checkpoints; shorter at the beginning, and longer if checkpoints would
  /// otherwise take over a twentieth of the time.
  Seconds checkpoint_interval{0.5};
  /// The search continues from this state and consumes it; null: it begins at the root.
  SearchState* resume = nullptr;
};

}  // namespace dfsearch
