// Kernels are decided in a topological order, inside or outside; a set is one that closes its
// paths: with two kernels it has all between them.  A branch is dropped where no set below it
// can have the excess that is looked for (excess_bound.hpp).  Where the duals are good, hardly a set
// comes near an excess of zero, and the enumeration is short.
//
// Where the sets of a first kernel are many, the bound is made tight for them; and of two states with
// the same kernels undecided and the same ties to them, the one that has no more worth, in no part of
// the time, and no less SRAM is dropped, if not all sets are wanted.
//
// Exchanges of kernels that are alike make sets of each other that have the same time and, where
// their duals are the same, too, the same excess.  Of such sets the one that has the earlier of two
// exchanged kernels where they first differ is enough.
//
// Against all sets: tests/engine/duals/partition_pricing_test.cpp.

#include "engine/duals/partition_walk.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace dfsearch {
namespace {

constexpr std::int64_t kStepsBetweenStops = 1024;
constexpr std::size_t kMostStates = 400'000;

}  // namespace

PartitionWalk::PartitionWalk(const FusionTables& tables, const PartitionPricing& pricing,
                             const Duals& duals, const PartitionPricing::Query& query)
    : tables_(tables),
      pricing_(pricing),
      duals_(duals),
      query_(query),
      least_charge_(*std::min_element(
          duals.charge.begin(),
          duals.charge.begin() + static_cast<std::ptrdiff_t>(pricing.rules().groups()))),
      threshold_(query.threshold),
      step_(1 + static_cast<std::int64_t>(tables.size() / 128)),
      deadline_(tables.deadline(), kStepsBetweenStops),
      bound_(tables, duals),
      inside_(tables.size()),
      open_(tables.size()),
      not_out_(tables.size()),
      after_(tables.size() + 1, KernelSet(tables.size())),
      sums_tell_all_(!tables.has_levels()),
      met_(kMostStates, tables.allowance()),
      by_weight_(tables.size()) {
  future_.fill(KernelSet(tables.size()));
  std::iota(by_weight_.begin(), by_weight_.end(), 0U);
  std::stable_sort(by_weight_.begin(), by_weight_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return tables.kernel(a).weight > tables.kernel(b).weight;
  });
  for (std::size_t p = 0; p < tables.size(); ++p) {
    const KernelCosts& kernel = tables.kernel(p);
    open_.insert(p);
    not_out_.insert(p);
    sums_tell_all_ = sums_tell_all_ && kernel.options == nullptr;
    Ticks memory = kernel.explicit_memory;
    for (const Arc& arc : tables.outputs(p)) memory += arc.transfer;
    const KernelParts own =
        parts(tables.problem().execution.overlap, kernel.compute, kernel.network, memory);
    for (std::size_t r = 0; r < own.size(); ++r) matters_[r] = matters_[r] || own[r] > 0;
  }
  for (std::size_t p = 0; p < tables.size(); ++p) {
    if (tables.kernel(p).lonely) leave_out(p);
  }
  all_ = mark();
  leads_ = leads();
}

bool PartitionWalk::go_to(std::size_t place) {
  if (place < place_) {
    go_back(all_);
    place_ = 0;
    leads_ = leads();
  }
  for (; place_ < place && leads_; ++place_) {
    const std::size_t p = pricing_.order()[place_];
    if (!open_.contains(p)) continue;
    leave_out(p);
    leads_ = leads();
  }
  return leads_;
}

PartitionWalk::Found PartitionWalk::find(std::size_t place, FineTicks threshold,
                                         const ExcessBound::Relaxations& relaxations,
                                         std::int64_t steps) {
  steps_ = steps - step_;
  threshold_ = threshold;
  if (steps_ >= 0 && go_to(place)) {
    use(relaxations);
    with_first(place);
  }
  return {.partitions = std::exchange(found_, {}),
          .steps = steps - steps_,
          .relaxations = bound_.relaxations()};
}

/// What another walk has made tight.
void PartitionWalk::use(const ExcessBound::Relaxations& relaxations) {
  if (relaxations != bound_.relaxations()) bound_.take_over(relaxations, inside_, open_);
}

void PartitionWalk::with_first(std::size_t place) {
  deadline_.check(step_);
  const std::size_t p = pricing_.order()[place];
  const Mark before = mark();
  const FineTicks threshold = threshold_;
  trial_ = query_.trial;
  is_long_ = false;
  if (put_in(p) && leads()) {
    decide(place + 1);
    if (trial_ < 0 && steps_ >= 0) {
      // Once more, with more care.
      is_long_ = true;
      threshold_ = threshold;
      found_.clear();
      bound_.tighten(inside_, open_);
      met_.clear();
      decide(place + 1);
    }
  }
  go_back(before);
}

void PartitionWalk::decide(std::size_t from) {
  deadline_.check(step_);
  if ((steps_ -= step_) < 0 || (!is_long_ && --trial_ < 0) || !may_exceed(threshold_)) return;
  const std::vector<std::uint32_t>& order = pricing_.order();
  while (from < order.size() && !open_.contains(order[from])) ++from;
  if (from == order.size()) {
    close();
    return;
  }
  const std::size_t p = order[from];
  // Looked up at every other place, states cost half and replace nearly as many.
  if (from % 2 == 0 && is_replaced()) return;
  const Mark before = mark();
  if (sums_.kernels < tables_.cores()) {
    if (put_in(p) && leads()) decide(from + 1);
    go_back(before);
  }
  refuse(p);
  if (leads()) decide(from + 1);
  go_back(before);
}

/// False if SRAM overflows.
bool PartitionWalk::put_in(std::size_t p) {
  const KernelSet& before = after();
  sums_.add(tables_, duals_, p, inside_);
  if (sums_.sram > tables_.sram()) return false;
  KernelSet& now = after_[static_cast<std::size_t>(sums_.kernels)];
  now = before;
  now |= pricing_.descendants(p);
  set_decided(p, true);
  open_.for_each([&](std::size_t other) {
    if (open_.contains(other) && !pricing_.partners(p).contains(other)) refuse(other);
  });
  for (const std::uint32_t other : by_weight_) {
    if (tables_.kernel(other).weight + sums_.sram <= tables_.sram()) break;
    if (open_.contains(other)) refuse(other);
  }
  // Paths from here through what is outside lead to nothing that may join.
  open_.for_each_common(pricing_.descendants(p), [&](std::size_t later) {
    if (!not_out_.contains_common(pricing_.descendants(p), pricing_.ancestors(later))) {
      leave_out(later);
    }
  });
  return true;
}

/// Leaves it out and, if something inside comes before it, what comes after it.
void PartitionWalk::refuse(std::size_t p) {
  leave_out(p);
  if (!after().contains(p)) return;
  open_.for_each_common(pricing_.descendants(p), [&](std::size_t later) { leave_out(later); });
}

void PartitionWalk::leave_out(std::size_t p) { set_decided(p, false); }

void PartitionWalk::set_decided(std::size_t p, bool inside) {
  open_.erase(p);
  if (inside) {
    inside_.insert(p);
  } else {
    not_out_.erase(p);
  }
  bound_.decide(p, inside, open_);
  decided_.push_back(static_cast<std::uint32_t>(p));
}

void PartitionWalk::go_back(const Mark& mark) {
  for (; decided_.size() > mark.decided; decided_.pop_back()) {
    const std::uint32_t p = decided_.back();
    bound_.take_back(p, inside_, open_);
    inside_.erase(p);
    open_.insert(p);
    not_out_.insert(p);
  }
  compared_ = mark.compared;
  sums_ = mark.sums;
}

/// Whether the set may come before all that exchanges make of it; leaves out what it then
/// may not have.
bool PartitionWalk::leads() {
  for (; compared_ < decided_.size(); ++compared_) {
    for (const std::uint32_t exchange : pricing_.exchanges_of(decided_[compared_])) {
      for (const auto& [earlier, later] : pricing_.exchanges()[exchange]) {
        if (open_.contains(earlier)) break;
        const bool has_earlier = inside_.contains(earlier);
        if (inside_.contains(later) && !has_earlier) return false;
        if (has_earlier && !inside_.contains(later)) break;
        if (open_.contains(later)) refuse(later);
      }
    }
  }
  return true;
}

/// Whether a state was met that has the same future and offers no less.
bool PartitionWalk::is_replaced() {
  if (!is_long_ || !query_.best_only || !sums_tell_all_) return false;
  auto& [open, after_some, beside] = future_;
  open = open_;
  after_some = after();
  after_some &= open_;
  beside = inside_;
  inside_.for_each([&](std::size_t p) {
    const auto leads_on = [&](const Arc& arc) { return open_.contains(arc.other); };
    const auto inputs = tables_.inputs(p);
    const auto outputs = tables_.outputs(p);
    if (std::none_of(inputs.begin(), inputs.end(), leads_on) &&
        std::none_of(outputs.begin(), outputs.end(), leads_on)) {
      beside.erase(p);
    }
  });
  const KernelParts own = sums_.parts(tables_.problem().execution.overlap);
  StateOffer offer{.worth = {}, .sram = sums_.sram, .kernels = 0};
  for (std::size_t r = 0; r < own.size(); ++r) {
    if (matters_[r]) offer.worth[r] = sums_.dual - own[r] * kFinePerTick;
  }
  if (static_cast<std::int64_t>(tables_.size()) > tables_.cores()) offer.kernels = sums_.kernels;
  return met_.is_worse(future_, offer);
}

bool PartitionWalk::may_exceed(FineTicks threshold) const {
  // What the first kernel decides.
  const FineTicks charge =
      sums_.kernels > 0 ? duals_.charge[group(inside_.first_from(0))] : least_charge_;
  return bound_.most() - charge > threshold;
}

void PartitionWalk::close() {
  const std::size_t first = inside_.first_from(0);
  // Sharing the cores out takes long.
  if (tables_.kernel(first).options != nullptr) steps_ -= 4 * sums_.kernels;
  const Ticks time = pricing_.time(inside_, sums_.compute, sums_.network, sums_.memory);
  const FineTicks excess = sums_.dual - time * kFinePerTick - duals_.charge[group(first)];
  if (excess <= threshold_) return;
  found_.push_back({.kernels = inside_,
                    .group = group(first),
                    .time = time,
                    .excess = excess,
                    .size = sums_.kernels});
  if (found_.size() < 4 * query_.most) return;
  keep_best(found_, query_.most);
  threshold_ = std::max(threshold_, found_.back().excess);
}

}  // namespace dfsearch
