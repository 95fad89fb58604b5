#pragma once
// Better fusions that are looked for while a search goes on, with an effort in proportion to it.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/fusion/beam_fusion.hpp"
#include "engine/fusion/fusion_pool.hpp"
#include "engine/fusion/fusion_tree.hpp"
#include "engine/fusion/move_fusion.hpp"
#include "engine/fusion/window_fusion.hpp"

namespace dfsearch {

/// What beams, moves, windows and pools make of the best segments of some tables, to which it
/// refers.  Any thread may use it.
class LazyImprovement {
 public:
  explicit LazyImprovement(const FusionTables& tables) : tables_(tables) {}

  struct Found {
    std::shared_ptr<const Fusion> fusion;  ///< null: none
    char found_by = ' ';                   ///< the letter of the log
  };
  /// All: returns once all attempts asked for have been made, waiting for other threads if need be.
  /// Next: makes one attempt at most, and none while another thread is making one; it never waits.
  enum class Make : std::uint8_t { All, Next };

  /// What a thread does now and then in the middle of an attempt; empty: nothing.
  using Between = std::function<void()>;

  /// The best fusion after so many attempts, no matter who made them: a function of the tables.
  /// If not all had to be made, the best of those that were.  Throws Stopped by the deadline of
  /// the tables.
  [[nodiscard]] Found after(int attempts, Make make, const Between& between = {}) const;

  /// One attempt more than anybody has made, and the best of all; nothing if another thread is at one
  /// or none is left.  Throws Stopped likewise.
  [[nodiscard]] Found go_on(const Between& between) const;

  /// How many attempts are due after a search has found so many nodes, and branched so many.
  [[nodiscard]] int attempts_due(std::int64_t found, std::int64_t branched) const;

 private:
  void attempt(const Between& between) const;
  void take_turn(std::int64_t steps, const Between& between) const;
  [[nodiscard]] bool start() const;
  [[nodiscard]] bool begin_with_beam() const;
  void widen(std::int64_t steps, const Between& between) const;
  void begin(std::optional<WindowSearch>& windows, const Fusion& fusion) const;
  template <class Search>
  bool counted(SearchBound part, Search& search, std::int64_t steps, const Between& between) const;
  void walk() const;
  void recombine() const;
  [[nodiscard]] bool is_idle() const { return !moves_ && !windows_ && !first_windows_; }
  void add_to_pool(const Fusion& fusion) const;
  bool keep(const Fusion& fusion, char found_by) const;
  [[nodiscard]] bool is_enough(int attempts) const;
  [[nodiscard]] Found best_after(int attempts) const;
  [[nodiscard]] Found best() const;

  const FusionTables& tables_;
  // Held through an attempt; guards what it works with.
  mutable std::mutex working_;
  mutable bool started_ = false;
  mutable int turn_ = 0;
  mutable int turns_for_beam_ = 2;  // one of so many attempts
  mutable int until_beam_ = turns_for_beam_;
  mutable std::optional<Fusion> first_;  // of segments or of the first beams
  mutable std::uint64_t walks_ = 1;      // from there
  // What is large has room of its own: most points are dropped before they need it.
  mutable std::unique_ptr<BeamSearch> beam_;   // while it grows wider
  mutable std::unique_ptr<MoveSearch> moves_;  // while they go on
  // While there are any that may bring something: of the best fusion, and of the first one.
  mutable std::optional<WindowSearch> windows_;
  mutable std::optional<WindowSearch> first_windows_;
  mutable std::unique_ptr<FusionPool> pool_;  // of what all of these have found
  // Guards what is shown of it, and is taken after the other.
  mutable std::mutex mutex_;
  mutable bool ended_ = false;
  mutable std::vector<Found> found_;  // after each attempt
};

}  // namespace dfsearch
