#pragma once
// The best solution found so far, shared by all workers.

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "base/units.hpp"

namespace dfsearch {

/// Readers on the hot path need the cost alone, so it is an atomic of its own
/// and may lag behind the solution: a stale cost is too high, which prunes less
/// but never wrongly.
template <class Solution>
class Incumbent {
 public:
  /// Infinite while there is none.  Relaxed: see above.
  [[nodiscard]] Score cost() const { return cost_.load(std::memory_order_relaxed); }

  [[nodiscard]] std::shared_ptr<const Solution> solution() const {
    const std::lock_guard lock(mutex_);
    return solution_;
  }
  /// How it was found; ' ' while there is none.
  [[nodiscard]] char found_by() const { return found_by_.load(std::memory_order_relaxed); }

  /// Takes the solution if it costs less than the incumbent, or the same and `precedes` returns
  /// that it comes first.  Any thread.
  template <class Precedes>
  bool offer(Score cost, Solution&& solution, char found_by, Precedes precedes) {
    const std::lock_guard lock(mutex_);
    const Score best = cost_.load(std::memory_order_relaxed);
    if (cost > best) return false;
    if (cost == best && solution_ && !precedes(solution, *solution_)) return false;
    solution_ = std::make_shared<const Solution>(std::move(solution));
    cost_.store(cost, std::memory_order_relaxed);
    found_by_.store(found_by, std::memory_order_relaxed);
    return true;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Solution> solution_;    // guarded by mutex_
  std::atomic<Score> cost_{Score::infinity()};  // written under mutex_
  std::atomic<char> found_by_{' '};             // written under mutex_
};

}  // namespace dfsearch
