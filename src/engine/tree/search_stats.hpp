#pragma once
// Counters and progress of a search.

#include <algorithm>
#include <cstdint>

#include "base/units.hpp"

namespace dfsearch {

struct SearchStats {
  std::int64_t nodes = 0;                ///< expanded
  std::int64_t proof_nodes = 0;          ///< part of the nodes that proved the best answer
  std::int64_t outer_points = 0;         ///< tile and micro-batch choices examined
  std::int64_t outer_points_opened = 0;  ///< outer points with tables; a bound closed the others
  std::int64_t ideals = 0;               ///< distinct sets of finished kernels met
  std::int64_t pruned_by_bound = 0;
  std::int64_t pruned_by_dominance = 0;
  std::int64_t pruned_by_capacity = 0;
  std::int64_t pruned_by_tiles = 0;      ///< outer points that other tiles replace
  std::int64_t pruned_by_shardings = 0;  ///< by a bound on all shardings left without a fusion
  std::int64_t incumbents = 0;
  Seconds time{};
  Seconds proof_time{};                           ///< part of the time that proved the best answer
  Seconds first_incumbent = Seconds::infinity();  ///< when it was found; infinite: never
  Seconds best_incumbent = Seconds::infinity();   ///< likewise the last that was better
  int threads = 1;                                ///< threads that worked

  /// Outer points that were never opened.  A resumed search opens some points a second time: those
  /// that were being opened when the checkpoint was written.
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

}  // namespace dfsearch
