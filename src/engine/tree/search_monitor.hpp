#pragma once
// Tells the outside world how the search is doing: once an interval, whatever the
// workers are busy with, or once so many nodes, and at every better mapping.

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "base/units.hpp"
#include "engine/tree/search_stats.hpp"
#include "engine/tree/ticker.hpp"

namespace dfsearch {

/// Who listens to the progress of a search, and when.
struct Listening {
  bool deterministic = false;
  std::function<void(const Progress&)> on_progress;
  Seconds interval{1.0};
  std::int64_t nodes = 1024;
};

/// Of the options of any search.
template <class Options>
Listening listening(const Options& options) {
  return {.deterministic = options.deterministic,
          .on_progress = options.on_progress,
          .interval = options.progress_interval,
          .nodes = options.progress_nodes};
}

/// Calls the listeners of a search, never two at a time but for those of `tell_unlocked`.
class SearchMonitor {
 public:
  /// `before` is the time that earlier runs of a resumed search have spent.
  SearchMonitor(Listening listening, const SearchStats& before);

  /// The time of this run so far.
  [[nodiscard]] Seconds elapsed() const;
  /// The time of all runs so far.
  [[nodiscard]] Seconds total_time() const { return time_before_ + elapsed(); }

  /// From now on `progress`, any thread's, tells about the tree for the answer of
  /// this rank; `nodes_before` were expanded in trees before it.
  void watch(std::function<Progress()> progress, int rank, std::int64_t nodes_before);
  /// The tree is gone; what it said last is repeated.
  void unwatch();

  /// Tells, in deterministic mode, if there are Listening::nodes more than the last time.
  void after_round();

  /// Tells something of the tree watched, with the progress of all trees together.
  void tell(const Progress& progress, const std::function<void(const Progress&)>& call);

  /// Tells something that takes long, as checkpoints do: progress is reported meanwhile.
  void tell_unlocked(const std::function<void()>& call);

  /// No call comes any more.
  void stop();

  /// What a call threw first; none came after it.  Null: none threw.
  [[nodiscard]] std::exception_ptr callback_error();

 private:
  [[nodiscard]] Progress in_total(Progress progress) const;
  [[nodiscard]] std::int64_t first_told_after(std::int64_t nodes) const;
  void tick();
  template <class Call>
  void guarded(const Call& call);

  const Listening listening_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const Seconds time_before_;
  std::mutex mutex_;  // guards what follows, and the calls
  std::function<Progress()> source_;
  Progress last_;
  int rank_ = 1;
  std::int64_t nodes_before_ = 0;
  std::int64_t next_ = 0;  // nodes to tell at after a round
  std::exception_ptr error_;
  std::optional<Ticker> ticker_;  // last: it uses the others
};

/// Watches a tree, and stops before the tree is gone, also when it throws.
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
