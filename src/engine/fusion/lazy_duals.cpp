#include "engine/fusion/lazy_duals.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "engine/duals/kernel_classes.hpp"

namespace dfsearch {
namespace {

// Of the first attempt: about as long as the nodes before it took.
constexpr std::int64_t kSteps = 500;
// An attempt at duals along a frontier has so many times as many steps: they are looked for in large
// graphs alone, whose nodes take long.
constexpr std::int64_t kTimesOfFrontiers = 8;
// Smaller graphs soon have the best duals.
constexpr std::size_t kSmallestOfOthers = 64;
// That others may expand beside any attempt: improvements, which come next, may take longer than a
// whole search of fewer.
constexpr std::int64_t kFewNodes = 1'024;
constexpr std::chrono::microseconds kSoon{1'000};
constexpr std::chrono::microseconds kAtOnce{100};
// All duals that are not known by then, after some tenths of a second, may never be.  Those of more
// kernels take so long that the weaker ones had better come first.
constexpr int kAttemptOfFrontiers = 13;
constexpr int kAttemptOfLargeFrontiers = 8;
constexpr std::size_t kKernelsOfLargeFrontiers = 256;
constexpr std::size_t kKernelsOfUsualNode = 32;

/// The time that a node takes grows with the square of its kernels, that of a step hardly.
std::int64_t weight_of_node(std::size_t kernels) {
  const auto times_usual = static_cast<std::int64_t>(kernels / kKernelsOfUsualNode);
  return 1 + times_usual * times_usual;
}

constexpr std::int64_t kNoRest = std::numeric_limits<std::int64_t>::max();

/// Other threads rest from so many nodes on, as long as this lives.
class OthersRest {
 public:
  OthersRest(std::atomic<std::int64_t>& from, std::int64_t nodes) : from_(from) {
    from_.store(nodes, std::memory_order_relaxed);
  }
  OthersRest(const OthersRest&) = delete;
  OthersRest& operator=(const OthersRest&) = delete;
  ~OthersRest() { from_.store(kNoRest, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t>& from_;
};

}  // namespace

LazyDuals::LazyDuals(const FusionTables& tables) : tables_(tables) {
  if (tables.size() >= kSmallestOfOthers) stage_ = Stage::Large;
}

int LazyDuals::attempts_due(std::int64_t nodes, std::int64_t before, std::size_t kernels,
                            std::int64_t steps_of_moves) {
  if (before == 0) return kMostAttempts;
  constexpr std::int64_t kMany = std::int64_t{1} << 40;  // more make no difference
  // So many that those along frontiers come; exact ones may take for ever.
  constexpr std::int64_t kMostByMoves = std::int64_t{1} << (kAttemptOfFrontiers - 1);
  const auto times =
      static_cast<std::uint64_t>(std::min(nodes / before, kMany) * weight_of_node(kernels) +
                                 std::min(steps_of_moves / kSteps, kMostByMoves));
  return std::min(kMostAttempts, static_cast<int>(std::bit_width(times)));
}

std::int64_t LazyDuals::steps_of(int attempts) const {
  attempts = std::min(attempts, ended_after_.load(std::memory_order_relaxed));
  return attempts == 0 ? 0 : kSteps << attempts;
}

LazyDuals::Found LazyDuals::after(int attempts) {
  if (attempts == 0 || !tables_.bounds().use(SearchBound::Duals)) return {};
  const std::unique_lock lock = locked();
  return found(made(attempts));
}

/// Makes so many attempts, and more as long as the last one has proved duals along frontiers of
/// different kernels: those that are slightly higher are soon proved then.  Returns how many.
int LazyDuals::made(int attempts) {
  while (is_left(attempts)) go_on();
  while (attempts < kMostAttempts && proving_[static_cast<std::size_t>(attempts)]) {
    ++attempts;
    while (is_left(attempts)) go_on();
  }
  return attempts;
}

/// Makes so many attempts unless better duals are proved before.
void LazyDuals::go_on_until_proved(int attempts) {
  const std::size_t before = duals_.size();
  while (duals_.size() == before && is_left(attempts)) go_on();
}

/// Once no other thread is at it: an attempt may take seconds, in which this one takes part.
std::unique_lock<std::mutex> LazyDuals::locked() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  while (!lock && !lock.try_lock()) static_cast<void>(work_.help_within(kAtOnce));
  return lock;
}

/// Nodes that others expand beside an attempt take none of the time that it is in proportion to:
/// if they counted, two threads would begin with the next one before they used what this one found.
LazyDuals::Found LazyDuals::when_due(const std::atomic<std::int64_t>& nodes, std::int64_t before,
                                     std::int64_t steps_of_moves) {
  if (!tables_.bounds().use(SearchBound::Duals)) return {};
  if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) {
    const std::int64_t begin = nodes.load(std::memory_order_relaxed);
    const OthersRest rest(rest_from_, begin + std::max(begin - beside_, kFewNodes));
    const int due = attempts_due(begin - beside_, before, tables_.size(), steps_of_moves);
    if (are_alike()) {
      go_on_until_proved(due);
    } else {
      static_cast<void>(made(due));
    }
    beside_ += nodes.load(std::memory_order_relaxed) - begin;
  }
  return known();
}

LazyDuals::Found LazyDuals::known() {
  const std::lock_guard known_lock(known_mutex_);
  return known_;
}

/// Pieces mostly come one after the other.
void LazyDuals::help() {
  if (!work_.has_any()) return;
  while (work_.help_within(kSoon)) {
  }
}

void LazyDuals::help_soon() { static_cast<void>(work_.help_within(kSoon)); }

void LazyDuals::help_to_the_end() {
  while (rest_from_.load(std::memory_order_relaxed) != kNoRest) {
    tables_.deadline().check();
    static_cast<void>(work_.help_within(kSoon));
  }
}

bool LazyDuals::are_alike() {
  std::call_once(are_alike_known_, [this] {
    are_alike_ = tables_.size() >= kSmallestOfOthers && are_mostly_alike(tables_);
  });
  return are_alike_;
}

const PartitionDuals* LazyDuals::next(const PartitionDuals* duals, int attempts, bool waits) {
  if (!tables_.bounds().use(SearchBound::Duals)) return nullptr;
  const std::unique_lock lock = waits ? locked() : std::unique_lock(mutex_, std::try_to_lock);
  if (!lock) return nullptr;
  const OthersRest rest(rest_from_, 0);
  auto next = duals_.begin();
  if (duals != nullptr) {
    next = std::find_if(next, duals_.end(), [&](const auto& of) { return &of.found == duals; });
    ++next;
  }
  if (next == duals_.end()) {
    const std::ptrdiff_t before = std::ssize(duals_);
    go_on_until_proved(attempts);
    next = std::next(duals_.begin(), before);
  }
  return next == duals_.end() || next->attempts > attempts ? nullptr : &next->found;
}

/// Whether nobody has made so many attempts yet, or the last of them has not ended.
bool LazyDuals::is_left(int attempts) const {
  const int wanted = std::min(attempts, kMostAttempts);
  return attempts_ < wanted || (attempts_ == wanted && steps_left_ > 0);
}

/// Begins the next attempt if the last one has ended, and goes on with it until it ends or better
/// duals are proved.  These are published at once: the attempt may take seconds.
void LazyDuals::go_on() {
  try {
    if (steps_left_ <= 0) begin_attempt();
    spend_steps();
  } catch (const Stopped&) {
    stage_ = Stage::Ended;  // half of a call is no state to go on from
    attempts_ = kMostAttempts;
    steps_left_ = 0;
    throw;
  }
  const std::lock_guard known_lock(known_mutex_);
  known_ = found(attempts_);
}

LazyDuals::Found LazyDuals::found(int attempts) const {
  Found found;
  for (const auto& [after, duals] : duals_) {
    if (after <= attempts) found.duals = &duals;
  }
  return found;
}

LazyDuals::Found LazyDuals::after_at_least(int attempts) {
  static_cast<void>(after(attempts));
  const std::unique_lock lock = locked();
  return found(attempts_);
}

void LazyDuals::begin_attempt() {
  steps_left_ = kSteps << attempts_++;
  if (stage_ == Stage::Large) begin_with_large();
  // Where kernels are alike, few calls prove nearly all, and one whose steps do not suffice begins
  // again: attempts before the first that nodes make due would only be lost.
  if (are_alike() && attempts_ < attempts_due(1, 1, tables_.size())) steps_left_ = 0;
  const int of_frontiers =
      tables_.size() > kKernelsOfLargeFrontiers ? kAttemptOfLargeFrontiers : kAttemptOfFrontiers;
  if (stage_ == Stage::All && attempts_ >= of_frontiers &&
      std::exchange(are_frontiers_left_, false)) {
    stage_ = Stage::Frontiers;
  }
}

void LazyDuals::spend_steps() {
  switch (stage_) {
    case Stage::Large:
      return;
    case Stage::Frontiers:
      go_on_with_frontiers();
      return;
    case Stage::All:
      go_on_with_all();
      return;
    case Stage::Ended:
      steps_left_ = 0;
      ended_after_ = std::min(ended_after_.load(), attempts_ - 1);
      return;
  }
}

void LazyDuals::begin_with_large() {
  stage_ = Stage::Frontiers;
  if (are_alike() || !ExactDualSearch::is_possible(tables_)) return;
  exact_ = std::make_unique<ExactDualSearch>(tables_, &work_);
  if (exact_->has_ended()) {
    exact_.reset();
    stage_ = Stage::Ended;
    return;
  }
  stage_ = Stage::All;
  are_frontiers_left_ = true;
}

void LazyDuals::keep(PartitionDuals duals) {
  const PartitionRules rules(tables_);
  if (!duals_.empty() && duals.bound(rules) < duals_.back().found.bound(rules)) return;
  duals_.push_back({.attempts = attempts_, .found = std::move(duals)});
  if (stage_ != Stage::Frontiers || are_alike()) return;
  proving_.set(static_cast<std::size_t>(attempts_));
}

void LazyDuals::go_on_with_frontiers() {
  const std::int64_t steps = kTimesOfFrontiers * std::exchange(steps_left_, 0);
  if (!tables_.bounds().use(SearchBound::Labels)) {
    stage_ = Stage::All;
    return;
  }
  if (!frontiers_) frontiers_ = std::make_unique<FrontierDualSearch>(tables_);
  const bool ended = frontiers_->advance(steps);
  if (auto duals = frontiers_->take()) keep(std::move(*duals));
  if (!ended) {
    steps_left_ = frontiers_->steps_left() / kTimesOfFrontiers;
    return;
  }
  frontiers_.reset();
  stage_ = are_alike() ? Stage::Ended : Stage::All;
}

void LazyDuals::go_on_with_all() {
  const std::int64_t steps = std::exchange(steps_left_, 0);
  if (!exact_) {
    if (!ExactDualSearch::is_possible(tables_)) {
      stage_ = Stage::Ended;
      return;
    }
    exact_ = std::make_unique<ExactDualSearch>(tables_, &work_);
  }
  if (!exact_->advance(steps)) return;
  auto duals = exact_->take();
  exact_.reset();
  if (!duals && std::exchange(are_frontiers_left_, false)) {
    stage_ = Stage::Frontiers;
    return;
  }
  if (duals) keep(std::move(*duals));
  stage_ = Stage::Ended;
}

}  // namespace dfsearch
