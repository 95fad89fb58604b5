// Beam search (Lowerre 1976) among the order ideals.
//
// From each ideal of the beam some partitions are grown, each from one of the first kernels that are
// ready: always the kernel joins that is worth most beyond the time that it adds, as long as it
// fits.  Of all that comes of as many partitions, those stay whose time is least for what their
// kernels are worth.  Kernels are worth what they take alone at first and then what they take in
// the best fusion known, each partition's time shared out in proportion to what its kernels were
// worth before: these are the prices at which that fusion loses nothing, so a beam looks for
// partitions that gain.
//
// tests/engine/fusion/beam_fusion_test.cpp: allowed, costed right, never better than the best.

#include "engine/fusion/beam_fusion.hpp"

#include <algorithm>
#include <utility>

#include "engine/fusion/costed_parts.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kWidest = 256;
// Partitions of a state: the first kernels that are ready, by order, keep the frontier small.
constexpr std::size_t kSeeds = 4;
constexpr std::size_t kPartitionsOfSeed = 2;
// As many kernels may join that bring nothing by themselves.
constexpr std::size_t kInVain = 4;
constexpr std::int64_t kKernelsOfStep = 16;  // that a state takes time for

}  // namespace

/// A state and what may come next.
struct BeamSearch::Expansion {
  const State& state;
  Unplaced unplaced;
  std::shared_ptr<OpenPartition> open;  // empty between partitions
};

bool BeamSearch::is_possible(const FusionTables& tables) {
  for (std::size_t p = 0; p < tables.size(); ++p) {
    if (tables.kernel(p).pin >= 0 || tables.kernel(p).options != nullptr) return false;
  }
  return true;
}

BeamSearch::BeamSearch(const FusionTables& tables, Fusion start)
    : tables_(tables),
      tree_(tables),
      rules_(tables),
      best_(std::move(start)),
      worth_(tables.size()) {
  OpenPartition alone(tables_, KernelSet(tables_.size()));
  for (std::size_t p = 0; p < tables_.size(); ++p) {
    alone.put_in(p);
    worth_[p] = 1.0 + static_cast<double>(alone.time(kNever - 1));
    alone.take_out_all();
  }
}

void BeamSearch::go_on_from(const Fusion& better) {
  if (better.time < best_.time) best_ = better;
}

/// With the states of one partition more that come of it.
std::size_t BeamSearch::bytes_of_place() const {
  constexpr std::size_t kNext = kSeeds * kPartitionsOfSeed;
  constexpr std::size_t kSetsOfOpen = 5;
  const std::size_t set = KernelSet(tables_.size()).heap_bytes();
  return (1 + kNext) * (sizeof(State) + sizeof(ClosedPartition) + set) +
         2 * (sizeof(OpenPartition) + kSetsOfOpen * set + tables_.size() * sizeof(std::uint32_t));
}

void BeamSearch::begin() {
  learn();
  memory_ = tables_.allowance().charge(width_ * bytes_of_place());
  beam_.push_back({.done = KernelSet(tables_.size()),
                   .last = nullptr,
                   .before = nullptr,
                   .left = tables_.size(),
                   .spent = 0,
                   .worth = 0.0,
                   .next_index = 0,
                   .used = 0});
}

void BeamSearch::learn() {
  OpenPartition open(tables_, KernelSet(tables_.size()));
  for (const KernelSet& part : parts_of(tables_, best_)) {
    double sum = 0.0;
    part.for_each([&](std::size_t p) {
      open.put_in(p);
      sum += worth_[p];
    });
    const double taken = 1.0 + static_cast<double>(open.time(kNever - 1));
    part.for_each([&](std::size_t p) { worth_[p] *= taken / sum; });
    open.take_out_all();
  }
}

bool BeamSearch::advance(std::int64_t steps, const std::function<void()>& between) {
  if (beam_.empty()) begin();
  steps_ = steps;
  while (steps_ > 0) {
    tables_.deadline().check();
    if (between) between();
    if (place_ < beam_.size()) {
      expand(beam_[place_++]);
      continue;
    }
    narrow();
    if (beam_.empty()) return is_last();
  }
  return false;
}

/// Whether the beam was; else the next one is wider.  What the first one finds changes what kernels
/// are worth, which helps more than width.
bool BeamSearch::is_last() {
  if (width_ == kWidest) return true;
  if (!std::exchange(is_first_, false)) width_ *= 2;
  return false;
}

/// The best of the next states are the beam, each ideal once.
void BeamSearch::narrow() {
  std::stable_sort(next_.begin(), next_.end(),
                   [](const State& a, const State& b) { return a.rate() < b.rate(); });
  beam_.clear();
  place_ = 0;
  for (State& state : next_) {
    const auto is_same = [&](const State& other) {
      return other.left == state.left && other.done == state.done;
    };
    if (std::any_of(beam_.begin(), beam_.end(), is_same)) continue;
    beam_.push_back(std::move(state));
    if (beam_.size() == width_) break;
  }
  next_.clear();
}

void BeamSearch::expand(const State& state) {
  steps_ -= static_cast<std::int64_t>(tables_.size()) / kKernelsOfStep;
  const Expansion expansion{.state = state,
                            .unplaced = rules_.unplaced(state.done),
                            .open = state.before
                                        ? std::make_shared<OpenPartition>(*state.before)
                                        : std::make_shared<OpenPartition>(tables_, state.done)};
  if (!rules_.open(state.next_index, expansion.unplaced)) return;
  OpenPartition& open = *expansion.open;
  if (state.before) {
    for (const std::uint32_t p : state.last->kernels) open.put_before(p);
  }
  const bool backward = expansion.unplaced.forward == 0;
  std::size_t seeds = 0;
  for (std::size_t p = open.first_ready(0); p < open.ready_end() && seeds < kSeeds;
       p = open.first_ready(p + 1)) {
    if (tables_.kernel(p).backward != backward) continue;
    grow(expansion, p);
    open.take_out_all();
    ++seeds;
  }
}

/// Two of the sets on the way become partitions: that of the most worth for its time and that of
/// the most worth beyond its time.
void BeamSearch::grow(const Expansion& expansion, std::size_t seed) {
  OpenPartition& open = *expansion.open;
  const bool alone = !open.fits(seed);
  if (alone && !tables_.kernel(seed).escapes) return;
  Prefix by_rate;
  Prefix by_sum;
  double worth = 0.0;
  std::size_t in_vain = 0;
  const auto look = [&] {
    ++in_vain;
    if (!open.fits_in_memory()) return;
    const Ticks time = open.time(kNever - 1);
    const double taken = 1.0 + static_cast<double>(time);
    const auto keep = [&](Prefix& best, double value) {
      if (best.kernels > 0 && value < best.value) return;
      best = {.kernels = open.kernels().size(), .time = time, .value = value};
      in_vain = 0;
    };
    keep(by_rate, worth / taken);
    keep(by_sum, worth - taken);
  };
  for (std::size_t next = seed; next < open.ready_end(); next = best_to_join(open)) {
    open.put_in(next);
    worth += worth_[next];
    look();
    if (alone || in_vain > kInVain) break;
  }
  if (by_rate.kernels > 0) close(expansion, by_rate);
  if (by_sum.kernels != by_rate.kernels) close(expansion, by_sum);
}

/// The kernel of the same phase that is worth most beyond the time that it adds; `ready_end()` if
/// none fits.
std::size_t BeamSearch::best_to_join(OpenPartition& open) {
  const bool backward = tables_.kernel(open.kernels().front()).backward;
  const OpenPartition::Totals before = open.totals();
  const Ticks time = open.time(kNever - 1);
  std::size_t best = open.ready_end();
  double most = 0.0;
  for (std::size_t p = open.first_ready(0); p < open.ready_end(); p = open.first_ready(p + 1)) {
    --steps_;
    if (tables_.kernel(p).backward != backward || !open.put_in_if_fits(p)) continue;
    const double gain = worth_[p] - static_cast<double>(open.time(kNever - 1) - time);
    open.take_out(p, before);
    if (best < open.ready_end() && gain <= most) continue;
    most = gain;
    best = p;
  }
  return best;
}

/// The first kernels of what is open become a partition.
void BeamSearch::close(const Expansion& expansion, const Prefix& prefix) {
  const State& state = expansion.state;
  KernelSet set(tables_.size());
  double worth = 0.0;
  for (const std::uint32_t p : expansion.open->kernels().first(prefix.kernels)) {
    set.insert(p);
    worth += worth_[p];
  }
  const auto index = rules_.index_for(set, state.next_index, expansion.unplaced);
  if (!index) return;
  State next = state;
  next.done |= set;
  next.last = std::make_shared<const ClosedPartition>(
      ClosedPartition{.previous = state.last, .kernels = KernelList(set), .index = *index});
  next.before = expansion.open;
  next.left -= prefix.kernels;
  next.spent += prefix.time;
  next.worth += worth;
  next.next_index = *index + 1;
  ++next.used;
  if (next.left > 0) {
    next_.push_back(std::move(next));
    return;
  }
  const Ticks whole = tables_.weight_loads() + next.spent;
  if (whole >= best_.time) return;
  best_ = {.time = whole, .partition = tree_.assignment(next.last.get()), .used = next.used};
}

}  // namespace dfsearch
