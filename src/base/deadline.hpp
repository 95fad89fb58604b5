#pragma once
// Deadline of work: one value, passed down to everything that may take long.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>

#include "base/units.hpp"

namespace dfsearch {

/// Thrown by Deadline::check.  It is no failure: the caller that began the work catches it and
/// keeps the complete results.
class Stopped final : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "stopped by a limit"; }
};

/// A point in time and a flag that another thread or a signal handler may raise;
/// the first of the two ends the work.  A small value: every part of the work has its
/// own copy.  The flag must outlive all of them.  Any thread.
class Deadline {
 public:
  using WallClock = std::chrono::steady_clock;

  /// A deadline that never passes.
  Deadline() = default;
  /// A deadline that passes `time` after this moment; if `time` is infinite, only the flag ends the
  /// work.
  explicit Deadline(Seconds time, const std::atomic<bool>* stop = nullptr);

  /// A deadline with the same flag, which passes `time` after this moment or when this deadline
  /// passes, whichever is earlier.
  [[nodiscard]] Deadline within(Seconds time) const;

  /// Whether the flag is raised.
  [[nodiscard]] bool is_stopped() const {
    // Relaxed order suffices: no other data is published with the flag.
    return stop_ != nullptr && stop_->load(std::memory_order_relaxed);
  }
  /// Whether the time is over.  Reads the clock, some 30 ns, if there is an end.
  [[nodiscard]] bool is_over() const { return end_ && WallClock::now() >= *end_; }
  [[nodiscard]] bool has_passed() const { return is_stopped() || is_over(); }

  /// Throws Stopped if it has passed.  The caller must be safe to leave by an exception here.
  void check() const {
    if (has_passed()) throw Stopped();
  }

 private:
  std::optional<WallClock::time_point> end_;
  const std::atomic<bool>* stop_ = nullptr;
};

/// Checks a deadline once in a while: for loops whose steps take much less than
/// reading the clock.  Used by one thread.
class PacedDeadline {
 public:
  /// Number of steps between two checks; they should take about a millisecond.
  PacedDeadline(const Deadline& deadline, std::int64_t steps)
      : deadline_(deadline), steps_(steps), left_(steps) {}

  /// Counts `steps` of work.  Throws Stopped.
  void check(std::int64_t steps = 1) {
    if ((left_ -= steps) > 0) return;
    left_ = steps_;
    deadline_.check();
  }

 private:
  const Deadline deadline_;
  const std::int64_t steps_;
  std::int64_t left_;
};

}  // namespace dfsearch
