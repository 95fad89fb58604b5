#include "engine/fusion/lazy_improvement.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/fusion/segment_fusion.hpp"

namespace dfsearch {
namespace {

// A search that is over before the first attempt pays nothing for it.  The nodes of larger graphs
// take longer, so there it is due after fewer.
constexpr std::int64_t kNodesBefore = 256;
constexpr std::int64_t kSmallGraph = 64;
constexpr std::int64_t kNodesBeforeSmall = 1'024;
constexpr std::int64_t kNodesPerAllocated = 4'096;
// After the first, one is due for as many nodes as a part of the kernels.  Soon is better than
// late: the first walk takes most of the time of one thread.  Later ones take some.
constexpr std::int64_t kPart = 32;
constexpr std::int64_t kOfWalk = 32;      // attempts, of a fourth of the kernels if that is more
constexpr std::int64_t kLater = 32;       // so much more seldom
constexpr std::int64_t kMostLater = 256;  // attempts; what these have not found is hardly found
constexpr std::int64_t kLast = 256;       // so much more seldom
// The first one sees moves cool down twice, unless that takes too long.
constexpr std::int64_t kStepsPerKernel = 1'200;
constexpr std::int64_t kMostSteps = 600'000;
constexpr std::uint64_t kWalks = 8;
constexpr std::int64_t kMostAttempts = 4'096;

std::int64_t steps_of_attempt(const FusionTables& tables) {
  return std::min(kMostSteps, kStepsPerKernel * static_cast<std::int64_t>(tables.size()));
}

}  // namespace

int LazyImprovement::attempts_due(std::int64_t found, std::int64_t branched,
                                  std::int64_t steps_of_duals) const {
  const auto kernels = static_cast<std::int64_t>(tables_.size());
  const std::int64_t before = kernels < kSmallGraph ? kNodesBeforeSmall : kNodesBefore;
  if (found * std::max(kernels, kSmallGraph) < before * kSmallGraph) return 0;
  // Sharing the cores out takes an attempt many times as long.
  if (tables_.kernel(0).options != nullptr) {
    return static_cast<int>(std::min(kMostAttempts, 1 + found / kNodesPerAllocated));
  }
  const std::int64_t soon = 1 + branched * kPart / kernels;
  const std::int64_t of_walk = std::max(kOfWalk, kernels / 4);
  const std::int64_t later = std::max<std::int64_t>(0, soon - of_walk);
  const std::int64_t last = std::max<std::int64_t>(0, later - kMostLater * kLater);
  const std::int64_t due = std::min(soon, of_walk) + (later - last) / kLater + last / kLast;
  // Where duals take long, a mapping is better by the time they begin.
  const std::int64_t beside_duals =
      kernels < kSmallGraph ? 0 : steps_of_duals / steps_of_attempt(tables_);
  return static_cast<int>(std::min(kMostAttempts, std::max(due, beside_duals)));
}

std::int64_t LazyImprovement::steps_of(int attempts) const {
  const bool are_few = static_cast<std::int64_t>(tables_.size()) < kSmallGraph;
  return are_few || !is_possible() ? 0 : attempts * steps_of_attempt(tables_);
}

std::shared_ptr<const Fusion> LazyImprovement::after(int attempts, Make make) {
  if (attempts == 0 || is_enough(attempts)) return best_after(attempts);
  std::unique_lock working(working_, std::defer_lock);
  if (make == Make::Wait) {
    working.lock();
  } else if (!working.try_lock()) {
    return best_after(attempts);
  }
  while (!is_enough(attempts)) attempt();
  return best_after(attempts);
}

std::shared_ptr<const Fusion> LazyImprovement::go_on() {
  constexpr auto kAll = static_cast<int>(kMostAttempts);
  const std::unique_lock working(working_, std::try_to_lock);
  if (!working || is_enough(kAll)) return nullptr;
  attempt();
  return best_after(kAll);
}

bool LazyImprovement::is_enough(int attempts) {
  const std::lock_guard lock(mutex_);
  return ended_ || std::ssize(found_) >= attempts;
}

std::shared_ptr<const Fusion> LazyImprovement::best_after(int attempts) {
  const std::lock_guard lock(mutex_);
  if (attempts == 0 || found_.empty()) return nullptr;
  return found_[std::min(found_.size(), static_cast<std::size_t>(attempts)) - 1];
}

/// Once moves have cooled down they begin again where they began, with other draws.
void LazyImprovement::attempt() {
  if (!moves_ && !start()) {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    return;
  }
  CountedCall call(tables_.allowance().efforts, SearchBound::Moves);
  const bool has_cooled = moves_->advance(steps_of_attempt(tables_));
  cut_again();
  const Fusion& best = moves_->best();
  const std::lock_guard lock(mutex_);
  const bool is_better = found_.empty() || best.time < found_.back()->time;
  found_.push_back(is_better ? std::make_shared<const Fusion>(best) : found_.back());
  call.found(is_better);
  if (!has_cooled) return;
  ended_ = walks_ == kWalks;
  if (!ended_) moves_ = std::make_unique<MoveSearch>(tables_, *first_, ++walks_);
}

/// Moves change a boundary at a time; all boundaries between partitions are then put where they are
/// best for the order that moves have come to (Prins 2004, of vehicle routes: order first, split
/// second).
void LazyImprovement::cut_again() {
  if (!tables_.bounds().use(SearchBound::Segments)) return;
  auto cut = best_segments(tables_, moves_->places());
  if (cut && cut->time < moves_->best().time) moves_->go_on_from(std::move(*cut));
}

bool LazyImprovement::is_possible() const {
  return tables_.bounds().use(SearchBound::Moves) && MoveSearch::is_possible(tables_);
}

/// Whether there is anything to begin with.
bool LazyImprovement::start() {
  if (!is_possible()) return false;
  first_ = best_segments(tables_);
  if (first_) moves_ = std::make_unique<MoveSearch>(tables_, *first_);
  return first_.has_value();
}

}  // namespace dfsearch
