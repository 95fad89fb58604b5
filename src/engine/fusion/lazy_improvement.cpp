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
// Beams are at their best where graphs are large and moves take long.
constexpr std::size_t kSmallestOfBeams = 64;
constexpr std::size_t kLarge = 512;
constexpr int kFirstBeams = 2;
constexpr int kFirstBeamsOfLarge = 4;
constexpr std::int64_t kStepsOfFirstBeam = 512;  // for each kernel, at the most
constexpr std::int64_t kStepsOfPool = 400'000;
constexpr std::uint64_t kWalks = 8;
constexpr std::int64_t kMostAttempts = 4'096;
constexpr Ticks kAttemptsToCatchUp = 16;

}  // namespace

int LazyImprovement::attempts_due(std::int64_t found, std::int64_t branched) const {
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
  return static_cast<int>(std::min(kMostAttempts, due));
}

LazyImprovement::Found LazyImprovement::after(int attempts, Make make,
                                              const Between& between) const {
  if (attempts == 0 || is_enough(attempts)) return best_after(attempts);
  std::unique_lock working(working_, std::defer_lock);
  if (make == Make::All) {
    working.lock();
    while (!is_enough(attempts)) attempt(between);
  } else if (working.try_lock() && !is_enough(attempts)) {
    attempt(between);
  }
  return best_after(attempts);
}

LazyImprovement::Found LazyImprovement::go_on(const Between& between) const {
  const std::unique_lock working(working_, std::try_to_lock);
  if (!working || is_enough(static_cast<int>(kMostAttempts))) return {};
  attempt(between);
  return best();
}

bool LazyImprovement::is_enough(int attempts) const {
  const std::lock_guard lock(mutex_);
  return ended_ || std::ssize(found_) >= attempts;
}

LazyImprovement::Found LazyImprovement::best() const {
  return best_after(static_cast<int>(kMostAttempts));
}

LazyImprovement::Found LazyImprovement::best_after(int attempts) const {
  const std::lock_guard lock(mutex_);
  if (attempts == 0 || found_.empty()) return {};
  return found_[std::min(found_.size(), static_cast<std::size_t>(attempts)) - 1];
}

/// The first beams show at once what they have found; later ones have a share of the attempts, which
/// halves whenever one brings nothing.
void LazyImprovement::attempt(const Between& between) const {
  const std::int64_t steps =
      std::min(kMostSteps, kStepsPerKernel * static_cast<std::int64_t>(tables_.size()));
  if (!std::exchange(started_, true) && start()) return;
  if (beam_ && --until_beam_ == 0) {
    widen(steps, between);
  } else {
    take_turn(steps, between);
  }
  const std::lock_guard lock(mutex_);
  ended_ = is_idle() && !beam_ && !(pool_ && (pool_->is_new() || walks_ < kWalks));
}

/// Moves and windows take turns, and each goes on from what the other has found.  Windows of the
/// first fusion have turns of their own, as long as they may catch up: where a graph repeats itself
/// they may find the same again and again, which moves have spoilt.  The fourth turn puts together
/// anew what all of them have found.
void LazyImprovement::take_turn(std::int64_t steps, const Between& between) const {
  const int turn = turn_++ % 4;
  if (pool_ && pool_->is_new() && (turn == 3 || is_idle())) {
    recombine();
  } else if (pool_ && is_idle() && walks_ < kWalks) {
    walk();
  } else if (moves_ && (turn == 0 || (!windows_ && !first_windows_))) {
    const bool ended = counted(SearchBound::Moves, *moves_, steps, between);
    add_to_pool(moves_->best());
    if (keep(moves_->best(), 'M') || (ended && !windows_)) begin(windows_, moves_->best());
    if (ended) moves_.reset();
  } else if (windows_ && (turn != 2 || !first_windows_)) {
    const bool ended = counted(SearchBound::Windows, *windows_, steps, between);
    add_to_pool(windows_->best());
    if (keep(windows_->best(), 'W') && moves_) moves_->go_on_from(windows_->best());
    if (ended) windows_.reset();
  } else if (first_windows_) {
    const Ticks before = first_windows_->time();
    const bool ended = counted(SearchBound::Windows, *first_windows_, steps, between);
    const Ticks now = first_windows_->time();
    add_to_pool(first_windows_->best());
    if (keep(first_windows_->best(), 'W') && moves_) moves_->go_on_from(first_windows_->best());
    const Ticks behind = now - best().fusion->time;
    if (ended || behind / kAttemptsToCatchUp > before - now) first_windows_.reset();
  } else if (beam_) {
    widen(steps, between);
  }
}

/// Goes on with one of them; whether that has ended.
template <class Search>
bool LazyImprovement::counted(SearchBound part, Search& search, std::int64_t steps,
                              const Between& between) const {
  CountedCall call(tables_.allowance().efforts, part);
  const Ticks before = search.best().time;
  const bool ended = search.advance(steps, between);
  call.found(search.best().time < before);
  return ended;
}

/// From the first fusion again, with other draws: what is found is another one for the pool.
void LazyImprovement::walk() const {
  moves_ = std::make_unique<MoveSearch>(tables_, *first_, ++walks_);
  keep(*best().fusion, 'M');
}

void LazyImprovement::recombine() const {
  const Found known = best();
  CountedCall call(tables_.allowance().efforts, SearchBound::Recombination);
  const auto better = pool_->best(known.fusion->time, kStepsOfPool);
  call.found(better.has_value());
  if (!keep(better ? *better : *known.fusion, 'C')) return;
  if (moves_) moves_->go_on_from(*better);
  begin(windows_, *better);
}

void LazyImprovement::add_to_pool(const Fusion& fusion) const {
  if (pool_) pool_->add(fusion);
}

/// Whether that was an attempt: the first beams have shown what they found.
bool LazyImprovement::start() const {
  const SearchBounds bounds = tables_.bounds();
  if (!bounds.use(SearchBound::Moves) && !bounds.use(SearchBound::Windows) &&
      !bounds.use(SearchBound::Beam)) {
    return false;
  }
  auto segments = best_segments(tables_);
  if (!segments) return false;
  first_ = *segments;
  const bool is_shown = begin_with_beam();
  begin(first_windows_, *first_);
  if (!bounds.use(SearchBound::Moves) || !MoveSearch::is_possible(tables_)) return is_shown;
  // Moves have seen worse by the time they cool down; in large graphs they hardly come that far.
  moves_ = std::make_unique<MoveSearch>(tables_, tables_.size() < kLarge ? *segments : *first_);
  if (!bounds.use(SearchBound::Recombination) || !FusionPool::is_possible(tables_)) {
    return is_shown;
  }
  pool_ = std::make_unique<FusionPool>(tables_);
  pool_->add(*first_);
  return is_shown;
}

/// What the first beams find is the first fusion and shown, if it is better than the segments.  Later
/// ones rely on that, whatever ends the attempt.
bool LazyImprovement::begin_with_beam() const {
  if (!tables_.bounds().use(SearchBound::Beam) || tables_.size() < kSmallestOfBeams) return false;
  if (!BeamSearch::is_possible(tables_)) return false;
  auto beam = std::make_unique<BeamSearch>(tables_, *first_);
  CountedCall call(tables_.allowance().efforts, SearchBound::Beam);
  const int beams = tables_.size() < kLarge ? kFirstBeams : kFirstBeamsOfLarge;
  for (int i = 0; i < beams; ++i) {
    beam->advance(kStepsOfFirstBeam * static_cast<std::int64_t>(tables_.size()));
  }
  if (beam->best().time >= first_->time) return false;
  call.found();
  first_ = beam->best();
  keep(*first_, 'A');
  beam_ = std::move(beam);
  return true;
}

void LazyImprovement::widen(std::int64_t steps, const Between& between) const {
  beam_->go_on_from(*best().fusion);
  const bool ended = counted(SearchBound::Beam, *beam_, steps, between);
  add_to_pool(beam_->best());
  if (keep(beam_->best(), 'A')) {
    if (moves_) moves_->go_on_from(beam_->best());
    begin(windows_, beam_->best());
  } else {
    turns_for_beam_ *= 2;
  }
  until_beam_ = turns_for_beam_;
  if (ended) beam_.reset();
}

void LazyImprovement::begin(std::optional<WindowSearch>& windows, const Fusion& fusion) const {
  if (!tables_.bounds().use(SearchBound::Windows) || !WindowSearch::is_possible(tables_)) return;
  windows.emplace(tables_, fusion);
}

/// Shows it, if it is better than what was there, and says so.
bool LazyImprovement::keep(const Fusion& fusion, char found_by) const {
  const std::lock_guard lock(mutex_);
  const bool better = found_.empty() || fusion.time < found_.back().fusion->time;
  found_.push_back(
      better ? Found{.fusion = std::make_shared<const Fusion>(fusion), .found_by = found_by}
             : found_.back());
  return better;
}

}  // namespace dfsearch
