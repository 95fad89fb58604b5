#include "engine/tree/search_monitor.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dfsearch {

SearchMonitor::SearchMonitor(Listening listening, const SearchStats& before)
    : listening_(std::move(listening)), time_before_(before.time), nodes_before_(before.nodes) {
  last_.nodes = before.nodes;
  next_ = next_report_after(before.nodes);
  if (listening_.on_progress && !listening_.deterministic) {
    ticker_.emplace(listening_.interval, [this] { tick(); });
  }
}

/// The next multiple of Listening::nodes: a search of several trees, or of several runs, then
/// reports at the same node counts as a single one.
std::int64_t SearchMonitor::next_report_after(std::int64_t nodes) const {
  const std::int64_t interval = std::max<std::int64_t>(1, listening_.nodes);
  return (nodes / interval + 1) * interval;
}

Seconds SearchMonitor::elapsed() const {
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start_;
  return Seconds(time.count());
}

Progress SearchMonitor::in_total(Progress progress) const {
  progress.time = total_time();
  progress.nodes += nodes_before_;
  progress.rank = rank_;
  return progress;
}

void SearchMonitor::watch(std::function<Progress()> progress, int rank, std::int64_t nodes_before) {
  const std::lock_guard lock(mutex_);
  DFSEARCH_ASSERT(!source_);  // one tree at a time
  source_ = std::move(progress);
  rank_ = rank;
  nodes_before_ = nodes_before;
}

void SearchMonitor::unwatch() {
  const std::lock_guard lock(mutex_);
  if (source_) last_ = in_total(source_());
  source_ = nullptr;
}

void SearchMonitor::report(const Progress& progress,
                           const std::function<void(const Progress&)>& call) {
  const std::lock_guard lock(mutex_);
  guarded([&] { call(in_total(progress)); });
}

/// The caller holds the mutex.
template <class Call>
void SearchMonitor::guarded(const Call& call) {
  if (error_) return;
  try {
    call();
  } catch (...) {
    error_ = std::current_exception();
  }
}

void SearchMonitor::call_unlocked(const std::function<void()>& call) {
  if (callback_error()) return;
  try {
    call();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

std::exception_ptr SearchMonitor::callback_error() {
  const std::lock_guard lock(mutex_);
  return error_;
}

void SearchMonitor::tick() {
  const std::lock_guard lock(mutex_);
  if (source_) last_ = in_total(source_());
  last_.time = total_time();
  guarded([this] { listening_.on_progress(last_); });
}

void SearchMonitor::after_round() {
  if (!listening_.on_progress || !listening_.deterministic) return;
  const std::lock_guard lock(mutex_);
  if (!source_) return;
  last_ = in_total(source_());
  if (last_.nodes < next_) return;
  next_ = next_report_after(last_.nodes);
  guarded([this] { listening_.on_progress(last_); });
}

void SearchMonitor::stop() {
  if (ticker_) ticker_->stop();
}

}  // namespace dfsearch
