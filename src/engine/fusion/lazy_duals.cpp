#include "engine/fusion/lazy_duals.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "engine/duals/block_duals.hpp"
#include "engine/fusion/frontier_fusion.hpp"

namespace dfsearch {
namespace {

// Of the first attempt: about as long as the nodes before it took.
constexpr std::int64_t kSteps = 500;
// After the first: a fusion that the duals prove is found soon or not at all.
constexpr int kAttemptsAtFusion = 1;
// Smaller graphs soon have better duals.
constexpr std::size_t kSmallestOfBlocks = 64;
constexpr int kAttemptOfBlocks = 3;
// The time that a node takes grows with their square, that of a step hardly.
constexpr std::size_t kKernelsOfUsualNode = 32;
constexpr std::array<std::size_t, 3> kKernelsOfBlock = {32, 48, 64};
constexpr std::int64_t kStepsOfBlock = 250'000;
constexpr std::int64_t kStepsOfFrontier = 100'000'000;
// Only where those duals do not end the search of the point.
constexpr int kAttemptOfFrontierFusion = kAttemptOfBlocks + 1;
constexpr std::int64_t kStepsOfFrontierFusion = 60'000'000;

}  // namespace

int LazyDuals::attempts_due(std::int64_t nodes, std::int64_t before, std::size_t kernels) {
  if (before == 0) return kMostAttempts;
  const std::size_t times_usual = kernels / kKernelsOfUsualNode;
  const auto weight = static_cast<std::uint64_t>(1 + times_usual * times_usual);
  constexpr std::int64_t kMany = std::int64_t{1} << 40;  // more make no difference
  const auto times = static_cast<std::uint64_t>(std::min(nodes / before, kMany)) * weight;
  return std::min(kMostAttempts, static_cast<int>(std::bit_width(times)));
}

LazyDuals::Found LazyDuals::after(int attempts) const {
  if (attempts == 0 || !tables_.bounds().use(SearchBound::Duals)) return {};
  const std::lock_guard lock(mutex_);
  make(attempts);
  return found(attempts);
}

LazyDuals::Found LazyDuals::after_or_known(int attempts) const {
  if (attempts == 0 || !tables_.bounds().use(SearchBound::Duals)) return {};
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock) make(attempts);
  const std::lock_guard known_lock(known_mutex_);
  return known_;
}

/// Those attempts that nobody has made yet.
void LazyDuals::make(int attempts) const {
  while (attempts_ < std::min(attempts, ended_ ? kAttemptOfFrontierFusion : kMostAttempts)) {
    try {
      if (attempts_ + 1 == kAttemptOfBlocks) find_blocks();
      if (attempts_ + 1 == kAttemptOfFrontierFusion) find_frontier_fusion();
      if (ended_) {
        ++attempts_;
      } else {
        attempt();
      }
    } catch (const Stopped&) {
      ended_ = true;  // half of an attempt is no state to go on from
      attempts_ = kMostAttempts;
      throw;
    }
    const std::lock_guard known_lock(known_mutex_);
    known_ = found(attempts_);
  }
}

LazyDuals::Found LazyDuals::found(int attempts) const {
  const PartitionDuals* first = blocks_ && attempts >= kAttemptOfBlocks ? &*blocks_ : nullptr;
  if (weighted_ && weighted_after_ <= attempts) first = &*weighted_;
  const Fusion* sketch = sketch_ && attempts >= kAttemptOfFrontierFusion ? &*sketch_ : nullptr;
  return {.duals = duals_ && duals_after_ <= attempts ? &*duals_ : first,
          .fusion = fusion_ && fusion_after_ <= attempts ? &*fusion_ : sketch};
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

/// Of the partitions that the duals of alike kernels pay for.
void LazyDuals::find_frontier_fusion() const {
  if (!of_frontier_ || !tables_.bounds().use(SearchBound::Columns)) return;
  std::int64_t steps = kStepsOfFrontierFusion;
  sketch_ = frontier_fusion(tables_, *blocks_, steps);
}

/// Where kernels are alike those of the frontier; else the best of blocks of some sizes, unless
/// memory time is far from what matters.
void LazyDuals::find_blocks() const {
  if (tables_.size() < kSmallestOfBlocks || !tables_.bounds().use(SearchBound::Blocks)) return;
  std::int64_t steps = kStepsOfFrontier;
  if (are_mostly_alike(tables_)) blocks_ = frontier_duals(tables_, steps);
  of_frontier_ = blocks_.has_value();
  if (of_frontier_) return;
  const KernelSet none(tables_.size());
  Rest all;
  for (std::size_t p = 0; p < tables_.size(); ++p) all += tables_.kernel(p).share;
  FineTicks most = tables_.least_time(all) / 2 * kFinePerTick;
  for (const std::size_t kernels : kKernelsOfBlock) {
    auto duals = block_duals(tables_, kernels, kStepsOfBlock);
    if (!duals) continue;
    const FineTicks sum = duals->of_rest(none);
    if (sum <= most) return;
    most = sum;
    blocks_ = std::move(duals);
  }
}

void LazyDuals::attempt() const {
  const std::int64_t steps = kSteps << attempts_++;
  ended_ = attempts_ == kMostAttempts;
  if (wants_weighted_) {
    if (go_on_with_weighted(steps)) return;
    wants_weighted_ = false;
    search_.reset();
  }
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

/// Duals of the kernels with weights, which are sooner known.  False if there is nothing more to
/// do.
bool LazyDuals::go_on_with_weighted(std::int64_t steps) const {
  if (tables_.size() < kSmallestOfBlocks || !tables_.bounds().use(SearchBound::Blocks) ||
      of_frontier_) {
    return false;
  }
  constexpr auto kOf = PartitionDualSearch::Of::WithWeight;
  if (!search_) {
    if (!PartitionDualSearch::is_possible(tables_, kOf)) return false;
    search_.emplace(tables_, kOf);
  }
  if (!search_->advance(steps)) return true;
  weighted_ = search_->take();
  const KernelSet none(tables_.size());
  if (weighted_ && blocks_ &&
      weighted_->of_rest(none) - weighted_->charges(PartitionRules(tables_), 0) <
          blocks_->of_rest(none)) {
    weighted_.reset();
  }
  weighted_after_ = attempts_;
  return false;
}

void LazyDuals::look_for_fusion(std::int64_t steps) const {
  const bool wanted = tables_.bounds().use(SearchBound::Columns);
  if (wanted) fusion_ = column_fusion(tables_, *duals_, steps);
  if (fusion_) fusion_after_ = attempts_;
  ended_ = ended_ || !wanted || fusion_ || attempts_ == duals_after_ + kAttemptsAtFusion;
}

}  // namespace dfsearch
