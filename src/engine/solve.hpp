#pragma once
// The one public entry of the search.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/units.hpp"
#include "engine/limits.hpp"
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

/// What `solve` found.  `mapping` and `cost` are there for Optimal and Feasible,
/// `infeasible` for Infeasible.
struct SearchResult {
  SearchStatus status = SearchStatus::NoSolution;
  StopReason stopped_by = StopReason::None;
  std::optional<Mapping> mapping;
  std::optional<Cost> cost;
  std::optional<Infeasible> infeasible;
  Seconds lower_bound{};
  double gap = 0.0;  ///< (objective - lower_bound) / objective
  SearchStats stats;
};

struct SearchOptions {
  Limits limits{};
  int threads = 1;  ///< at least 1; more than the machine has are not all used
  bool deterministic = false;
  std::optional<Mapping> hint = std::nullopt;  ///< first incumbent; dropped if it does not fit
  /// For tests of developer builds: no node that holds it may have a bound above its
  /// cost, or InternalError is thrown.
  std::optional<Mapping> debug_solution = std::nullopt;
  /// Called about once a `progress_interval` from a worker, never concurrently.
  std::function<void(const Progress&)> on_progress = nullptr;
  Seconds progress_interval{1.0};
  bool report_incumbents = false;  ///< call it for every better mapping, too
};

/// Finds the mapping of least step time.  No global state: several solves may
/// run at once.  Throws InputError for a problem that makes no sense and
/// InternalError when the winner does not evaluate to what the search says.
SearchResult solve(const Problem& problem, const SearchOptions& options);

}  // namespace dfsearch
