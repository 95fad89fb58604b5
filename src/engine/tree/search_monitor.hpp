#pragma once
// Reports the progress of a search to its listeners: once an interval, or after a number of nodes,
// and at every better mapping.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/units.hpp"
#include "engine/tree/tree_search.hpp"

namespace dfsearch {

/// Calls `tick` once an interval, first after one interval, until it is stopped or `tick` throws.
class Ticker {
 public:
  Ticker(Seconds interval, std::function<void()> tick)
      : tick_(std::move(tick)),
        thread_([this, interval](const std::stop_token& stop) { run(stop, interval); }) {}

  /// Waits until no tick runs or begins any more; rethrows the exception of a tick.
  void stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void run(const std::stop_token& stop, Seconds interval) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    const std::chrono::duration<double> pause(interval.in_base_units());
    try {
      for (;;) {
        wake.wait_for(lock, stop, pause, [] { return false; });
        if (stop.stop_requested()) return;
        tick_();
      }
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  std::function<void()> tick_;
  std::exception_ptr error_;  // written by the thread, read after it has ended
  std::jthread thread_;       // last: it uses the others
};

/// The listeners to the progress of a search, and their times.
struct Listening {
  bool deterministic = false;
  std::function<void(const Progress&)> on_progress;
  Seconds interval{1.0};
  std::int64_t nodes = 1024;
};

/// The listeners in the options of any search.
template <class Options>
Listening listening(const Options& options) {
  return {.deterministic = options.deterministic,
          .on_progress = options.on_progress,
          .interval = options.progress_interval,
          .nodes = options.progress_nodes};
}

/// Calls the listeners of a search, never two at a time except in `call_unlocked`.
class SearchMonitor {
 public:
  /// `before` is the time that earlier runs of a resumed search have spent.
  SearchMonitor(Listening listening, const SearchStats& before);

  [[nodiscard]] Seconds elapsed() const;
  /// The time of all runs so far.
  [[nodiscard]] Seconds total_time() const { return time_before_ + elapsed(); }

  /// Reports from now on the progress of the tree that searches the answer of this rank.  Any
  /// thread may call `progress`; `nodes_before` nodes were expanded in earlier trees.
  void watch(std::function<Progress()> progress, int rank, std::int64_t nodes_before);
  /// Ends the reports of the tree; its last progress is repeated from now on.
  void unwatch();

  /// Reports, in deterministic mode, if at least Listening::nodes nodes were expanded since the
  /// last report.
  void after_round();

  /// Calls `call` with the progress of all trees together; `progress` is the watched tree's own.
  void report(const Progress& progress, const std::function<void(const Progress&)>& call);

  /// Makes a long call, such as a checkpoint, during which progress is reported.
  void call_unlocked(const std::function<void()>& call);

  void stop();

  /// The exception of the first listener that threw, after which no listener was called; or null.
  [[nodiscard]] std::exception_ptr callback_error();

 private:
  [[nodiscard]] Progress in_total(Progress progress) const;
  [[nodiscard]] std::int64_t next_report_after(std::int64_t nodes) const;
  void tick();
  template <class Call>
  void guarded(const Call& call);

  const Listening listening_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const Seconds time_before_;
  std::mutex mutex_;  // guards the members below, and the calls
  std::function<Progress()> source_;
  Progress last_;
  int rank_ = 1;
  std::int64_t nodes_before_ = 0;
  std::int64_t next_ = 0;  // nodes of the next report after a round
  std::exception_ptr error_;
  std::optional<Ticker> ticker_;  // last: it uses the others
};

/// Watches a tree until the end of a scope, also if the scope ends by an exception.
class Watched {
 public:
  Watched(SearchMonitor& monitor, std::function<Progress()> progress, int rank,
          std::int64_t nodes_before)
      : monitor_(monitor) {
    monitor_.watch(std::move(progress), rank, nodes_before);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched() { monitor_.unwatch(); }

 private:
  SearchMonitor& monitor_;
};

}  // namespace dfsearch
