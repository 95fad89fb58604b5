#pragma once
// Effort of each counted part of the search: number of calls, their time and their finds.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "base/deadline.hpp"
#include "base/memory_budget.hpp"
#include "base/units.hpp"
#include "engine/tables/search_bounds.hpp"

namespace dfsearch {

/// Effort of one part of the search.
struct Effort {
  std::int64_t calls = 0;
  Seconds time{};          ///< processor time of the calling threads
  std::int64_t finds = 0;  ///< named in SearchBoundName::finds
};

/// One entry for each SearchBound, in its order.
using Efforts = std::array<Effort, kSearchBounds.size()>;

/// The sums of one solve.  Any thread may add; the counters are relaxed and read after the search.
class EffortCounters {
 public:
  void add(SearchBound part, std::int64_t nanoseconds, std::int64_t finds) {
    Counter& counter = counters_[static_cast<std::size_t>(part)];
    counter.calls.fetch_add(1, std::memory_order_relaxed);
    counter.nanoseconds.fetch_add(nanoseconds, std::memory_order_relaxed);
    counter.finds.fetch_add(finds, std::memory_order_relaxed);
  }

  [[nodiscard]] Efforts sums() const {
    constexpr double kNanosecond = 1e-9;
    Efforts efforts;
    for (std::size_t i = 0; i < efforts.size(); ++i) {
      const Counter& counter = counters_[i];
      efforts[i].calls = counter.calls.load(std::memory_order_relaxed);
      efforts[i].time = Seconds(
          kNanosecond * static_cast<double>(counter.nanoseconds.load(std::memory_order_relaxed)));
      efforts[i].finds = counter.finds.load(std::memory_order_relaxed);
    }
    return efforts;
  }

 private:
  struct Counter {
    std::atomic<std::int64_t> calls{0};
    std::atomic<std::int64_t> nanoseconds{0};
    std::atomic<std::int64_t> finds{0};
  };
  std::array<Counter, kSearchBounds.size()> counters_;
};

/// Counts one call of a thread, from the constructor to the end of the scope.  It reads the
/// thread's clock twice, at some 300 ns, so the call should take tens of microseconds or more.
class CountedCall {
 public:
  /// Counts nothing if `counters` is null.
  CountedCall(EffortCounters* counters, SearchBound part)
      : counters_(counters), part_(part), begin_(counters != nullptr ? now() : 0) {}
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;
  ~CountedCall() {
    if (counters_ != nullptr) counters_->add(part_, now() - begin_, finds_);
  }

  void found(std::int64_t more = 1) { finds_ += more; }

 private:
  static std::int64_t now() {
    constexpr std::int64_t kPerSecond = 1'000'000'000;
    std::timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * kPerSecond + time.tv_nsec;
  }

  EffortCounters* counters_;
  SearchBound part_;
  std::int64_t begin_;
  std::int64_t finds_ = 0;
};

/// Limits and counters that a solve hands down to all trees and tables that it builds.
struct Allowance {
  Deadline deadline{};
  MemoryBudget* memory = nullptr;     ///< null: no limit, nothing is counted
  EffortCounters* efforts = nullptr;  ///< null: nothing is counted

  /// Equal limits without counters, for a part of a call that is counted already.
  [[nodiscard]] Allowance uncounted() const { return {.deadline = deadline, .memory = memory}; }
  [[nodiscard]] MemoryCharge charge(std::size_t bytes) const { return {memory, bytes}; }
  /// Whether `more` bytes would exceed the limit.
  [[nodiscard]] bool is_tight(std::size_t more = 0) const {
    return memory != nullptr && memory->is_tight(more);
  }
};

}  // namespace dfsearch
