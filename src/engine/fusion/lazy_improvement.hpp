#pragma once
// Better fusions that are looked for while a search goes on, with an effort in proportion to it.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/fusion/move_fusion.hpp"

namespace dfsearch {

/// What simulated annealing makes of the best segments of some tables, to which it refers, where each
/// attempt ends with the best segments of its own order.  Any thread may use it.
class LazyImprovement {
 public:
  explicit LazyImprovement(const FusionTables& tables) : tables_(tables) {}

  /// Wait: all attempts asked for are made, after those of another thread if need be.  TryNow: none
  /// while another thread is making some.
  enum class Make : std::uint8_t { Wait, TryNow };

  /// The best fusion after so many attempts, no matter who made them, or of those that were made; null
  /// if there is none.  A function of the tables and of the attempts.  Throws Stopped by the deadline
  /// of the tables.
  [[nodiscard]] std::shared_ptr<const Fusion> after(int attempts, Make make);

  /// One attempt more than anybody has made, and the best of all; null if another thread is at one or
  /// none is left.  Throws Stopped likewise.
  [[nodiscard]] std::shared_ptr<const Fusion> go_on();

  /// How many attempts are due after a search has found so many nodes and branched so many, and so
  /// many steps have been spent on duals.
  [[nodiscard]] int attempts_due(std::int64_t found, std::int64_t branched,
                                 std::int64_t steps_of_duals) const;
  /// About how many steps so many attempts take in a large graph; 0 in a small one, where duals need
  /// not keep up with them.
  [[nodiscard]] std::int64_t steps_of(int attempts) const;

 private:
  void attempt();
  void cut_again();
  [[nodiscard]] bool is_possible() const;
  [[nodiscard]] bool start();
  [[nodiscard]] bool is_enough(int attempts);
  [[nodiscard]] std::shared_ptr<const Fusion> best_after(int attempts);

  const FusionTables& tables_;
  std::mutex working_;                 // held through an attempt; guards what it works with
  std::optional<Fusion> first_;        // of segments
  std::unique_ptr<MoveSearch> moves_;  // null: not begun; large, and most points are dropped before
  std::uint64_t walks_ = 1;            // that moves have begun
  std::mutex mutex_;                   // guards what is shown of it, and is taken after the other
  bool ended_ = false;
  std::vector<std::shared_ptr<const Fusion>> found_;  // the best after each attempt
};

}  // namespace dfsearch
