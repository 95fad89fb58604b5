#pragma once
// Options and listeners of a search.

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
  Limits limits{};  ///< they hold for this run and all that it searches for
  int threads = 1;  ///< at least 1; more than the machine has are not all used
  /// Any number of threads expands the same nodes in the same order, finds the same one of equally
  /// good answers, and makes the same calls of `on_progress` and `on_incumbent`, except for their
  /// times.
  bool deterministic = false;
  NodeEffort node_effort{};
  /// The bounds that prove the optimum; without some the result is the same, only later.
  SearchBounds bounds{};
  std::optional<Mapping> hint = std::nullopt;  ///< first incumbent; dropped if it does not fit
  /// For tests of developer builds: no node that holds it may have a bound above its
  /// cost, or InternalError is thrown.
  std::optional<Mapping> debug_solution = std::nullopt;
  /// Number of parallelisms to answer with, each with its own best mapping; InputError below 1.
  std::int64_t top = 1;
  /// Look for the second parallelism, too, if `top` is 1, with a small, fixed effort, so that the
  /// outcome is the same every time.
  bool next_best = false;

  /// If something was fixed beforehand, search the other choices as well, with a small, fixed
  /// effort (SearchResult::beyond_scope).
  bool beyond_scope = false;

  /// If the problem is infeasible, find changes that would make it feasible.
  bool find_changes = false;

  // The listeners.  When one of them throws the search goes on and none is called any more; the
  // result is not lost, and SearchResult::callback_error holds the exception.

  /// Called once a `progress_interval` from a thread of its own.  In deterministic mode, where no
  /// clock may count, called by the thread of `solve` between two rounds, once every
  /// `progress_nodes` nodes.
  std::function<void(const Progress&)> on_progress = nullptr;
  Seconds progress_interval{1.0};
  std::int64_t progress_nodes = 1024;
  /// Called at every better mapping, from any thread, never together with
  /// `on_progress` or itself.
  std::function<void(const Progress&, const Mapping&)> on_incumbent = nullptr;

  /// Called by the thread of `solve`, perhaps together with the others: now and
  /// then, and at the end.  The nodes of the state belong to the search: a copy of it must go
  /// before SearchResult::leftovers do.
  std::function<void(const SearchState&)> on_checkpoint = nullptr;
  /// The time between two checkpoints; it is less at the beginning and more if they would
  /// take over a twentieth of the time.
  Seconds checkpoint_interval{0.5};
  /// The search goes on from this state and uses it up; null: it begins.
  SearchState* resume = nullptr;
};

}  // namespace dfsearch
