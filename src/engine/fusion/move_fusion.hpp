#pragma once
// Simulated annealing of a fusion: kernels move from partition to partition, and some moves that
// make the fusion worse are accepted.

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/fusion/moving_parts.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tree/effort.hpp"

namespace dfsearch {

/// Improves a fusion by random moves.  The result is a function of the tables, the start and the
/// seed.  Refers to the tables.  Used by one thread.
class MoveSearch {
 public:
  /// `start` is a fusion of `tables`, for which moves are possible.  `seed` starts the random
  /// numbers; another seed may lead to another fusion.
  MoveSearch(const FusionTables& tables, Fusion start,
             std::uint64_t seed = std::mt19937_64::default_seed);

  [[nodiscard]] static bool is_possible(const FusionTables& tables) {
    return MovingParts::is_possible(tables);
  }

  /// Continues until `work`, which it counts down, is 0.  Returns true once the last round is over.
  /// Throws Stopped at the deadline of the tables; `best` then still returns the best fusion of the
  /// earlier calls.
  bool advance(Work& work);

  /// Replaces the current and the best fusion by a better one.
  void go_on_from(Fusion better);

  /// The index of each kernel's current partition; the current fusion need not be the best.
  [[nodiscard]] std::vector<std::uint32_t> places() const { return parts_.places(); }
  /// The best fusion so far, costed by the tables.
  [[nodiscard]] const Fusion& best() const { return best_; }

 private:
  struct Move {
    Ticks change = kNever;  // kNever: no move, or a forbidden one
    bool is_later = false;  // whether the new partition comes after the old one
  };

  void begin_round();
  bool cool();
  [[nodiscard]] double median_rise();
  [[nodiscard]] Move draw_move(Ticks most);
  void propose();
  [[nodiscard]] std::size_t draw(std::size_t below);
  [[nodiscard]] Ticks draw_rise();
  [[nodiscard]] std::size_t draw_target(std::size_t kernel);
  void keep_best();

  const FusionTables& tables_;
  MovingParts parts_;
  Fusion best_;
  Ticks least_;                             // least time so far
  std::vector<std::uint32_t> best_places_;  // places with this time; empty if `best_` has this time
  std::mt19937_64 random_;
  int round_ = 0;
  std::int64_t blocks_left_ = 0;  // in the round; moves of a block have the same temperature
  std::int64_t moves_left_ = 0;   // in the block
  std::int64_t moves_ = 0;        // moves of a block
  double temperature_ = 0.0;      // in ticks
  bool ended_ = false;
};

}  // namespace dfsearch
