#pragma once
// The nodes that wait to be expanded and the best solution so far, shared by all workers.

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/memory_budget.hpp"
#include "base/units.hpp"

namespace dfsearch {

/// A priority queue: least bound first, among equal bounds the newest, so that a plateau is
/// searched in depth.  It also records the nodes that its workers hold, which makes `lower_bound` a
/// true bound of all unfinished nodes and detects the end of the search.
template <class Node>
class OpenNodes {
 public:
  struct Entry {
    Score bound;
    std::uint64_t sequence = 0;
    Node node;
    MemoryCharge memory{};  ///< charge of the node, which moves with it
  };

  explicit OpenNodes(int workers) : held_(static_cast<std::size_t>(workers)) {}

  /// Hands in the results of the node that the worker held and takes the next one.  Waits while
  /// others may still produce nodes.  Returns nothing if the search is over or closed.
  std::optional<Entry> exchange(int worker, std::vector<Entry>& produced) {
    std::vector<Slot> slots = wrapped(produced);
    std::unique_lock lock(mutex_);
    DFSEARCH_ASSERT(away_ == 0);
    DFSEARCH_ASSERT(busy_ > 0 || !held_.front());  // nothing is popped
    put(slots);
    std::optional<Score>& held = held_[static_cast<std::size_t>(worker)];
    if (held) --busy_;
    held.reset();
    if (heap_.empty() && busy_ == 0) closed_ = true;
    if (!heap_.empty() || closed_) wake_.notify_all();
    wake_.wait(lock, [this] { return closed_ || !heap_.empty(); });
    if (closed_) return std::nullopt;
    Slot slot = take();
    held = slot.bound;
    ++busy_;
    lock.unlock();
    return unwrapped(std::move(slot));
  }

  /// Ends the search for all workers; nodes they hand in later are kept.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    wake_.notify_all();
  }

  // While no worker holds a node:

  /// Takes all open nodes, in the order in which they were handed in.  Until they
  /// are put back they count as open.
  [[nodiscard]] std::vector<Entry> take_all() {
    std::vector<Slot> slots;
    {
      const std::lock_guard lock(mutex_);
      DFSEARCH_ASSERT(away_ == 0 && busy_ == 0 && !held_.front());
      away_ = heap_.size();
      if (!heap_.empty()) away_bound_ = heap_.front().bound;
      slots.swap(heap_);
    }
    std::sort(slots.begin(), slots.end(),
              [](const Slot& a, const Slot& b) { return a.sequence < b.sequence; });
    std::vector<Entry> entries;
    entries.reserve(slots.size());
    for (Slot& slot : slots) entries.push_back(unwrapped(std::move(slot)));
    return entries;
  }

  /// Calls visit(bound, entry) for each open node, in no order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    const std::lock_guard lock(mutex_);
    for (const Slot& slot : heap_) visit(slot.bound, *slot.entry);
  }

  /// Returns all open nodes for the caller to destroy later: destroying many nodes takes long.
  [[nodiscard]] std::shared_ptr<const void> leave() {
    const std::lock_guard lock(mutex_);
    return std::make_shared<const std::vector<Slot>>(std::move(heap_));
  }

  /// Puts back the nodes that `take_all` took; reopens a closed queue.
  void put_back(std::vector<Entry>&& entries) {
    std::vector<Slot> slots = wrapped(entries);
    make_room(slots);
    std::make_heap(slots.begin(), slots.end(), later);
    const std::lock_guard lock(mutex_);
    DFSEARCH_ASSERT(heap_.empty() && slots.size() == away_);
    heap_.swap(slots);
    away_ = 0;
    away_bound_ = Score::infinity();
    closed_ = false;
  }

  // At any time:

  /// Adds nodes.  Not between take_all() and put_back(): the bound of taken nodes would be lost.
  void push(std::vector<Entry>& produced) {
    std::vector<Slot> slots = wrapped(produced);
    const std::lock_guard lock(mutex_);
    DFSEARCH_ASSERT(away_ == 0);
    away_bound_ = Score::infinity();
    put(slots);
  }

  /// Takes the next node, if there is one, without waiting.  All popped nodes count as held until
  /// `release`.  Not to be mixed with `exchange`.
  std::optional<Entry> pop() {
    const std::lock_guard lock(mutex_);
    DFSEARCH_ASSERT(busy_ == 0);
    if (heap_.empty()) return std::nullopt;
    Slot slot = take();
    held_.front() = std::min(held_.front().value_or(slot.bound), slot.bound);
    return unwrapped(std::move(slot));
  }

  /// Ends the hold on the popped nodes, once their children are handed in.
  void release() {
    const std::lock_guard lock(mutex_);
    held_.front().reset();
  }

  /// Drops all open nodes if the least of their bounds is above `cutoff`; returns the number
  /// dropped.
  std::int64_t discard_above(Score cutoff) {
    std::vector<Slot> dropped;  // destroyed after the mutex is released
    const std::lock_guard lock(mutex_);
    if (!heap_.empty() && heap_.front().bound > cutoff) dropped.swap(heap_);
    return static_cast<std::int64_t>(dropped.size());
  }

  /// The least bound of all open and held nodes; infinite when there are none,
  /// 0 before the first push.
  [[nodiscard]] Score lower_bound() const {
    const std::lock_guard lock(mutex_);
    Score least = away_bound_;
    for (const std::optional<Score>& held : held_) least = std::min(least, held.value_or(least));
    if (!heap_.empty()) least = std::min(least, heap_.front().bound);
    return least;
  }

  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return heap_.size() + away_;
  }

 private:
  static constexpr std::size_t kFewSlots = 4'096;
  // Searches turn to depth first before the heap has this size.
  static constexpr std::size_t kMostSlots = std::size_t{1} << 21;

  /// Element of the heap: moving it leaves the entry itself in place.
  struct Slot {
    Score bound;
    std::uint64_t sequence = 0;
    std::unique_ptr<Entry> entry;
  };

  static bool later(const Slot& a, const Slot& b) {
    if (!(a.bound == b.bound)) return a.bound > b.bound;
    return a.sequence < b.sequence;
  }

  static std::vector<Slot> wrapped(std::vector<Entry>& entries) {
    std::vector<Slot> slots;
    slots.reserve(entries.size());
    for (Entry& entry : entries) {
      const Score bound = entry.bound;
      const std::uint64_t sequence = entry.sequence;
      slots.push_back({bound, sequence, std::make_unique<Entry>(std::move(entry))});
    }
    entries.clear();
    return slots;
  }

  static Entry unwrapped(Slot&& slot) {
    slot.entry->sequence = slot.sequence;
    return std::move(*slot.entry);
  }

  /// Reserves room for all slots early: moving many slots to a larger place would block the threads
  /// that wait for the mutex.  Pages that are not written take no memory.
  static void make_room(std::vector<Slot>& slots) {
    if (slots.size() > kFewSlots && slots.capacity() < kMostSlots) slots.reserve(kMostSlots);
  }

  void put(std::vector<Slot>& slots) {
    make_room(heap_);
    for (Slot& slot : slots) {
      slot.sequence = next_sequence_++;
      heap_.push_back(std::move(slot));
      std::push_heap(heap_.begin(), heap_.end(), later);
    }
  }

  Slot take() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Slot slot = std::move(heap_.back());
    heap_.pop_back();
    return slot;
  }

  mutable std::mutex mutex_;  // guards all that follows
  std::condition_variable wake_;
  std::vector<Slot> heap_;
  std::vector<std::optional<Score>> held_;  // per worker: bound of its node; nothing: idle
  std::size_t away_ = 0;                    // taken by take_all
  // Least bound of the nodes taken away.  Before the first push it is 0, as no cost is negative.
  Score away_bound_{};
  int busy_ = 0;
  std::uint64_t next_sequence_ = 0;
  bool closed_ = false;
};

/// The best solution found so far.  Readers on the hot path need only its cost, which is an atomic
/// of its own and may lag behind the solution: a stale cost is too high, which prunes less but
/// never wrongly.
template <class Solution>
class Incumbent {
 public:
  /// Infinite while there is none.  Relaxed: see above.
  [[nodiscard]] Score cost() const { return cost_.load(std::memory_order_relaxed); }

  [[nodiscard]] std::shared_ptr<const Solution> solution() const {
    const std::lock_guard lock(mutex_);
    return solution_;
  }
  /// The letter of the technique that found the solution; ' ' while there is none.
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
