// Every thread is a lane that takes a point, solves it with some effort, and hands in the answer.
// Points that need more wait in a list.  When no point is to be had and no lane is at work, the
// first of the list is solved with all threads; its answer may bring up new points.

#include "study/point_source.hpp"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>

namespace dfsearch::study {
namespace {

int hardware_threads() {
  return static_cast<int>(
      tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
}

class Run {
 public:
  Run(PointSource& source, const SolvePoint& solve, const RunOptions& options)
      : source_(source),
        solve_(solve),
        options_(options),
        lanes_(std::clamp(options.threads, 1, hardware_threads())) {}

  bool run() {
    tbb::task_arena arena(lanes_);
    while (!options_.deadline.has_passed()) {
      arena.execute([&] { solve_short_ones(); });
      if (long_.empty() || options_.deadline.has_passed()) break;
      const PointIndex point = long_.front();
      long_.pop_front();
      hand_in(solve_(point, {.threads = options_.threads}));
    }
    return is_done_;
  }

 private:
  void solve_short_ones() {
    is_done_ = false;
    tbb::task_group group;
    for (int lane = 1; lane < lanes_; ++lane) {
      group.run([this, lane] { work(static_cast<std::size_t>(lane)); });
    }
    try {
      work(0);
    } catch (...) {
      stop();
      group.wait();
      throw;
    }
    group.wait();
  }

  void work(std::size_t lane) {
    try {
      while (const std::optional<PointIndex> point = next()) {
        PointAnswer answer = solve_(*point, {.whole = false, .lane = lane});
        const std::lock_guard lock(mutex_);
        --at_work_;
        if (answer.stopped_by_effort && source_.wants(answer)) {
          long_.push_back(*point);
        } else {
          hand_in(answer);
        }
        changed_.notify_all();
      }
    } catch (...) {
      stop();
      throw;
    }
  }

  /// The next point to begin with; nothing: there is none, and none will come from points at work.
  std::optional<PointIndex> next() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (stopped_ || options_.deadline.has_passed()) return std::nullopt;
      if (const std::optional<PointIndex> point = source_.next()) {
        ++at_work_;
        return point;
      }
      if (at_work_ == 0) {
        is_done_ = long_.empty();
        changed_.notify_all();
        return std::nullopt;
      }
      changed_.wait(lock);
    }
  }

  /// Called by a lane that holds the lock, or while no lane works.
  void hand_in(const PointAnswer& answer) {
    // A point that the deadline cut short is left to the next run, proved or not, since its row
    // would contain the stop.
    if (answer.stopped_by_clock && options_.deadline.has_passed()) return;
    source_.take(answer);
    if (!answer.stopped_by_effort && options_.on_answer) options_.on_answer(answer);
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

  PointSource& source_;
  const SolvePoint& solve_;
  const RunOptions& options_;
  const int lanes_;
  std::mutex mutex_;  // guards the members below, and the source
  std::condition_variable changed_;
  std::deque<PointIndex> long_;
  int at_work_ = 0;
  bool is_done_ = false;
  bool stopped_ = false;
};

}  // namespace

bool run_points(PointSource& source, const SolvePoint& solve, const RunOptions& options) {
  return Run(source, solve, options).run();
}

}  // namespace dfsearch::study
