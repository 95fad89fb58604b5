#pragma once
// Duals that are looked for when they are first wanted, with an effort in proportion to the
// search that wants them.

#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <mutex>

#include "base/shared_work.hpp"
#include "engine/duals/exact_duals.hpp"
#include "engine/duals/frontier_duals.hpp"
#include "engine/fusion/fusion_tree.hpp"

namespace dfsearch {

/// The duals of some tables, to which it refers.  Any thread may use it.
class LazyDuals {
 public:
  explicit LazyDuals(const FusionTables& tables);

  struct Found {
    const PartitionDuals* duals = nullptr;  ///< null: none
    friend bool operator==(const Found&, const Found&) = default;
  };
  /// What so many attempts find, each twice as long as the one before and no matter who made
  /// them.  The outcome is a function of the tables; it lives as long as this does.  Throws
  /// Stopped by the deadline of the tables; after that nothing more is found.
  [[nodiscard]] Found after(int attempts);

  /// The same with the attempts that are due after the nodes counted, less those that other threads
  /// expanded beside an attempt, where kernels are alike until one proves better duals; if somebody
  /// else is at it, what is known so far.
  [[nodiscard]] Found when_due(const std::atomic<std::int64_t>& nodes, std::int64_t before,
                               std::int64_t steps_of_moves = 0);

  /// What is known so far.
  [[nodiscard]] Found known();

  /// Whether another thread has been looking for duals for so long that to expand more nodes before it
  /// is done brings nothing: asked by when_due, for as many nodes as were counted before; by next, at
  /// all.
  [[nodiscard]] bool is_overdue(const std::atomic<std::int64_t>& nodes) const {
    return nodes.load(std::memory_order_relaxed) > rest_from_.load(std::memory_order_relaxed);
  }
  /// Takes part in what a thread does that looks for duals, as long as there is some.
  void help();
  /// The same, once there is some, if that is soon.
  void help_soon();
  /// The same until that thread is done.  Throws Stopped by the deadline of the tables.
  void help_to_the_end();

  /// Whether the graph is large and most of its kernels are alike: duals along frontiers come soon
  /// there and prove nearly all.
  [[nodiscard]] bool are_alike();
  /// The first duals after these, or the very first if they are null, that so many attempts find; null
  /// if they find none.  A function of the tables and of the arguments if it waits for other threads;
  /// else null as well while one of them looks for duals.  Throws Stopped by the deadline of the tables.
  [[nodiscard]] const PartitionDuals* next(const PartitionDuals* duals, int attempts, bool waits);

  /// What all attempts that anybody made have found, which are so many at least.
  [[nodiscard]] Found after_at_least(int attempts);

  static constexpr int kMostAttempts = 20;
  /// How many attempts are due after so many nodes of a search among so many kernels, and so many
  /// steps of moves; the first one is due after `before` nodes, which take longer the more kernels
  /// there are.
  [[nodiscard]] static int attempts_due(std::int64_t nodes, std::int64_t before,
                                        std::size_t kernels, std::int64_t steps_of_moves = 0);
  /// About how many steps so many attempts take; those that found nothing left to do take none.
  [[nodiscard]] std::int64_t steps_of(int attempts) const;

 private:
  // A small graph goes All.  A large one with a small frontier goes one of these ways:
  //   mostly alike kernels:  Frontiers
  //   different kernels:     All, with Frontiers in between if All takes long
  // Frontiers give weaker duals than All, but give them sooner.
  enum class Stage : std::uint8_t { Large, Frontiers, All, Ended };

  [[nodiscard]] std::unique_lock<std::mutex> locked();
  [[nodiscard]] bool is_left(int attempts) const;
  int made(int attempts);
  void go_on_until_proved(int attempts);
  void go_on();
  [[nodiscard]] Found found(int attempts) const;
  void begin_attempt();
  void spend_steps();
  void begin_with_large();
  void go_on_with_frontiers();
  void go_on_with_all();
  void keep(PartitionDuals duals);

  const FusionTables& tables_;
  std::once_flag are_alike_known_;
  bool are_alike_ = false;
  SharedWork work_;  // of who holds mutex_
  // What has been tried so far; guarded by mutex_.
  std::mutex mutex_;
  int attempts_ = 0;             // that have begun
  std::int64_t steps_left_ = 0;  // of the last one
  std::int64_t beside_ = 0;      // nodes that others expanded meanwhile
  // Read without the mutex: the attempts after which nothing was left to do, and from how many nodes
  // on others had better rest.
  std::atomic<int> ended_after_{kMostAttempts};
  std::atomic<std::int64_t> rest_from_{std::numeric_limits<std::int64_t>::max()};
  Stage stage_ = Stage::All;
  bool are_frontiers_left_ = false;  // for when all duals take long
  // Each with room of its own, as most points are dropped before they need it.
  std::unique_ptr<FrontierDualSearch> frontiers_;  // while it goes on
  std::unique_ptr<ExactDualSearch> exact_;         // while it goes on
  // What was found, and after how many attempts: each better than the one before.
  template <class T>
  struct After {
    int attempts = 0;
    T found;
  };
  std::list<After<PartitionDuals>> duals_;
  std::bitset<kMostAttempts + 1> proving_;  // attempts after which another one comes at once
  // What all of that has found; guarded by a mutex of its own, which nobody holds for long.
  std::mutex known_mutex_;
  Found known_;
};

}  // namespace dfsearch
