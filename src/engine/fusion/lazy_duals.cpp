#include "engine/fusion/lazy_duals.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace dfsearch {
namespace {

// Of the first attempt: about as long as the nodes before it took.
constexpr std::int64_t kSteps = 500;
// After the first: a fusion that the duals prove is found soon or not at all.
constexpr int kAttemptsAtFusion = 1;

}  // namespace

int LazyDuals::attempts_due(std::int64_t nodes, std::int64_t before) {
  if (before == 0) return kMostAttempts;
  const auto times = static_cast<std::uint64_t>(nodes / before);
  return std::min(kMostAttempts, static_cast<int>(std::bit_width(times)));
}

LazyDuals::Found LazyDuals::after(int attempts) const {
  if (attempts == 0 || !tables_.bounds().use(SearchBound::Duals)) return {};
  const std::lock_guard lock(mutex_);
  while (!ended_ && attempts_ < std::min(attempts, kMostAttempts)) {
    try {
      attempt();
    } catch (const Stopped&) {
      ended_ = true;  // half of an attempt is no state to go on from
      throw;
    }
  }
  return {.duals = duals_ && duals_after_ <= attempts ? &*duals_ : nullptr,
          .fusion = fusion_ && fusion_after_ <= attempts ? &*fusion_ : nullptr};
}

LazyDuals::Found LazyDuals::after_at_least(int attempts) const {
  static_cast<void>(after(attempts));
  int made = 0;
  {
    const std::lock_guard lock(mutex_);
    made = attempts_;
  }
  return after(std::max(attempts, made));
}

void LazyDuals::attempt() const {
  const std::int64_t steps = kSteps << attempts_++;
  ended_ = attempts_ == kMostAttempts;
  if (!duals_) {
    if (!search_) {
      if (!PartitionDualSearch::is_possible(tables_)) {
        ended_ = true;
        return;
      }
      search_.emplace(tables_);
    }
    if (!search_->advance(steps)) return;
    duals_ = search_->take();
    search_.reset();
    if (!duals_) {
      ended_ = true;
      return;
    }
    duals_after_ = attempts_;
  }
  look_for_fusion(steps);
}

void LazyDuals::look_for_fusion(std::int64_t steps) const {
  const bool wanted = tables_.bounds().use(SearchBound::Columns);
  if (wanted) fusion_ = column_fusion(tables_, *duals_, steps);
  if (fusion_) fusion_after_ = attempts_;
  ended_ = ended_ || !wanted || fusion_ || attempts_ == duals_after_ + kAttemptsAtFusion;
}

}  // namespace dfsearch
