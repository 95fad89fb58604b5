#pragma once
// Limits, options, counters, progress and result of a search by branch and bound.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "base/deadline.hpp"
#include "base/memory_budget.hpp"
#include "base/units.hpp"
#include "base/words.hpp"

namespace dfsearch {

enum class StopReason : std::uint8_t { None, Time, Nodes, Signal };
/// StopReason::None has an empty name.
constexpr auto words(StopReason) {
  return named<StopReason>(
      {{"time", StopReason::Time}, {"nodes", StopReason::Nodes}, {"signal", StopReason::Signal}});
}

/// The reason why work under this deadline ends now; None if it does not.
inline StopReason stop_reason(const Deadline& deadline) {
  if (deadline.is_stopped()) return StopReason::Signal;
  return deadline.is_over() ? StopReason::Time : StopReason::None;
}

struct Limits {
  Deadline deadline{};
  std::int64_t nodes = std::numeric_limits<std::int64_t>::max();
  /// Near this limit the search goes depth first and caches nothing new.  The limit counts the data
  /// of the search (base/memory_budget.hpp), not the process.
  Bytes memory = Bytes::infinity();
  double gap = 0.0;  ///< stop when (incumbent - lower bound) / incumbent is at most this
};

/// How the work of a tree over mappings is cut into nodes.
struct NodeEffort {
  /// Steps of an enumeration, about a millisecond, after which it goes back to the queue: other
  /// workers can then take a part of it.
  std::int64_t steps = 10'000;
  /// Factor of the work of a node in the effort rule (engine/tree/effort.hpp): with a high weight
  /// the techniques beside the tree begin at once, even in a small problem.
  std::int64_t weight = 1;
};

struct SearchStats {
  std::int64_t nodes = 0;                ///< expanded
  std::int64_t proof_nodes = 0;          ///< the nodes that proved the best answer
  std::int64_t outer_points = 0;         ///< tile and micro-batch choices examined
  std::int64_t outer_points_opened = 0;  ///< outer points with tables; a bound closed the others
  std::int64_t ideals = 0;               ///< distinct sets of finished kernels met
  std::int64_t pruned_by_bound = 0;
  std::int64_t pruned_by_dominance = 0;
  std::int64_t pruned_by_capacity = 0;
  std::int64_t pruned_by_tiles = 0;      ///< outer points that other tiles replace
  std::int64_t pruned_by_shardings = 0;  ///< nodes closed by a bound on all remaining shardings
  std::int64_t incumbents = 0;
  Seconds time{};
  Seconds proof_time{};                           ///< time of the proof of the best answer
  Seconds first_incumbent = Seconds::infinity();  ///< when it was found; infinite: never
  Seconds best_incumbent = Seconds::infinity();   ///< likewise for the last improvement
  int threads = 1;                                ///< threads that worked

  /// Outer points that were never opened.  A resumed search opens some points a second time, if the
  /// checkpoint was written while they were being opened.
  [[nodiscard]] std::int64_t outer_points_closed() const {
    return std::max<std::int64_t>(0, outer_points - outer_points_opened);
  }

  /// Adds the counters of another tree; times and threads are the caller's.
  void add_counts(const SearchStats& tree) {
    nodes += tree.nodes;
    outer_points += tree.outer_points;
    outer_points_opened += tree.outer_points_opened;
    ideals += tree.ideals;
    pruned_by_bound += tree.pruned_by_bound;
    pruned_by_dominance += tree.pruned_by_dominance;
    pruned_by_capacity += tree.pruned_by_capacity;
    pruned_by_tiles += tree.pruned_by_tiles;
    pruned_by_shardings += tree.pruned_by_shardings;
    incumbents += tree.incumbents;
  }
};

/// (cost - lower bound) / cost: greatest relative distance of the cost from the optimum.  From 0 to
/// 1 for every finite cost.
inline double relative_gap(Score cost, Score lower_bound) {
  return lower_bound < cost ? (cost - lower_bound) / cost : 0.0;
}

/// One line of the log.
struct Progress {
  Seconds time{};
  std::int64_t nodes = 0;
  std::int64_t open = 0;
  Score incumbent = Score::infinity();  ///< infinite: none yet
  Score lower_bound{};
  char found_by = ' ';  ///< technique that found the incumbent, a letter of docs/results.md
  int rank = 1;         ///< 1: searches the best mapping; 2: the next-best parallelism; ...
};

struct BranchAndBoundOptions {
  Limits limits{};
  int threads = 1;
  bool deterministic = false;
  /// Time between checkpoints: less at the beginning, more if checkpoints would take over a
  /// twentieth of the search.
  Seconds checkpoint_interval{0.5};
  /// Solutions of a higher cost are rejected.
  Score cutoff = Score::infinity();
  /// Lower bound known beforehand.  A solution that reaches it ends the search.
  Score floor{};
  std::size_t open_limit = std::size_t{1} << 20;
  /// Budget of the open nodes; when it is tight the search goes depth first.  Null: no limit.
  MemoryBudget* memory = nullptr;
};

template <class Solution>
struct BranchAndBoundResult {
  std::shared_ptr<const Solution> solution;  ///< null: none was found
  Score cost = Score::infinity();
  char found_by = ' ';
  /// Lower bound on all solutions: `cost` if the search was completed, infinite if it was completed
  /// without a solution.
  Score lower_bound{};
  StopReason stopped_by = StopReason::None;
  SearchStats stats;
};

}  // namespace dfsearch
