#include "engine/fusion/lazy_windows.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "engine/fusion/segment_fusion.hpp"

namespace dfsearch {
namespace {

// A search that is over before pays nothing for it.
constexpr std::int64_t kNodesBefore = 256;
constexpr std::int64_t kNodesPerAttempt = 256;
constexpr std::int64_t kSteps = 300'000;
constexpr std::int64_t kMostAttempts = 4'096;

}  // namespace

int LazyWindows::attempts_due(std::int64_t nodes) {
  if (nodes < kNodesBefore) return 0;
  return static_cast<int>(std::min(kMostAttempts, 1 + (nodes - kNodesBefore) / kNodesPerAttempt));
}

std::shared_ptr<const Fusion> LazyWindows::after(int attempts) const {
  if (attempts == 0 || !tables_.bounds().use(SearchBound::Windows)) return nullptr;
  const std::lock_guard lock(mutex_);
  while (!ended_ && std::ssize(found_) < attempts) attempt();
  if (found_.empty()) return nullptr;
  return found_[std::min(found_.size(), static_cast<std::size_t>(attempts)) - 1];
}

void LazyWindows::attempt() const {
  if (!search_) {
    if (WindowSearch::is_possible(tables_)) {
      if (auto start = best_segments(tables_)) search_.emplace(tables_, *start);
    }
    if (!search_) {
      ended_ = true;
      return;
    }
  }
  const Ticks before = found_.empty() ? kNever : search_->time();
  ended_ = search_->advance(kSteps);
  found_.push_back(search_->time() < before ? std::make_shared<const Fusion>(search_->best())
                                            : found_.back());
  if (ended_) search_.reset();
}

}  // namespace dfsearch
