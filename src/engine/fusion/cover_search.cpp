// All fusions that take no more than the bound of the duals and some slack are exact covers of the
// kernels by partitions that each have no more slack than that (docs/duals.md, section 9).  For
// little slack these are few, they are listed, and all covers are looked through: either the best is
// a fusion, which nothing undercuts, or every fusion has more slack and the bound rises by it.

#include "engine/fusion/cover_search.hpp"

#include <algorithm>

namespace dfsearch {
namespace {

constexpr int kFirstSlack = 14;  // of the bound, by a power of two
constexpr std::size_t kMostPartitions = 100'000;
// Of more than that: a fusion of some of them is soon found or not at all.
constexpr std::size_t kTried = 20'000;
constexpr std::int64_t kStepsOfTried = 5'000'000;
constexpr std::int64_t kPartOfSteps = 4;
constexpr std::size_t kHardlyMore = 8;  // less than one of so many more

}  // namespace

CoverSearch::CoverSearch(const FusionTables& tables, const PartitionDuals& duals, SharedWork* work)
    : tables_(tables),
      duals_(duals),
      pricing_(tables, PartitionPricing::Sets::Ordered, PartitionPricing::way_for(tables), work),
      bound_(duals.of_rest(KernelSet(tables.size())) - duals.charges(pricing_.rules(), 0)),
      slack_(std::max(kFinePerTick, bound_ >> kFirstSlack)),
      least_(tables.weight_loads() + ticks_of(bound_)) {}

/// Each slack takes longer than the one before: the next one waits if that took most of the steps.
bool CoverSearch::advance(std::int64_t steps) {
  steps_ = steps;
  while (steps_ > steps / kPartOfSteps * (kPartOfSteps - 1)) {
    Outcome outcome = list_ ? Outcome::None : list();
    if (outcome == Outcome::None) outcome = find_covers();
    if (outcome != Outcome::None) return outcome == Outcome::Ended;
    slack_ *= 2;
  }
  return false;
}

/// The partitions of the slack, or of so much more that there are some that have not been tried:
/// where there are hardly any more covers would take as long again.  Not of so much more that they
/// are too many.
CoverSearch::Outcome CoverSearch::list() {
  std::optional<std::vector<PartitionColumn>> last;  // of half the slack
  for (;; slack_ *= 2) {
    // An enumeration may hold twelve times as many before it keeps the best.
    const bool is_possible =
        slack_ <= bound_ && !tables_.allowance().is_tight(12 * kMostPartitions * bytes_of_one());
    if (!is_possible && !last) return Outcome::Ended;
    PartitionPricing::Found found;
    if (is_possible) {
      found = pricing_.find(duals_, {.threshold = -slack_ - 1, .most = kMostPartitions}, steps_);
    }
    const bool are_all = found.complete && found.partitions.size() < kMostPartitions;
    if (last && !are_all) {
      slack_ /= 2;
      keep(std::move(*last), true);
      return Outcome::None;
    }
    if (!found.complete) return Outcome::OutOfSteps;
    if (!are_all || found.partitions.size() >= tried_ + tried_ / kHardlyMore) {
      keep(std::move(found.partitions), are_all);
      return Outcome::None;
    }
    last = std::move(found.partitions);
  }
}

/// `are_all`: that have the slack; else those that have least.
void CoverSearch::keep(std::vector<PartitionColumn>&& partitions, bool are_all) {
  list_ = std::make_unique<Listed>();
  list_->are_all = are_all;
  list_->partitions = std::move(partitions);
  if (!are_all) list_->partitions.resize(kTried);
  list_->memory = tables_.allowance().charge(list_->partitions.size() * bytes_of_one());
  list_->best = slack_ + 1;
  list_->covers.emplace(tables_, pricing_, duals_, list_->partitions);
}

CoverSearch::Outcome CoverSearch::find_covers() {
  const std::int64_t before = steps_;
  auto best = list_->covers->find(list_->best, steps_);
  list_->best = best.slack;
  list_->steps += before - steps_;
  if (best.fusion && best.fusion->time < best_time_) {
    best_time_ = best.fusion->time;
    fusion_ = std::move(best.fusion);
  }
  if (!list_->are_all && (best.complete || list_->steps > kStepsOfTried)) return Outcome::Ended;
  if (!best.complete) return Outcome::OutOfSteps;
  // Fusions take whole ticks: more slack than `slack_`, or just what the best cover has.
  const bool any = best.slack <= slack_;
  least_ = tables_.weight_loads() +
           (any ? ticks_of(bound_ + best.slack) : (bound_ + slack_) / kFinePerTick + 1);
  tried_ = list_->partitions.size();
  list_.reset();
  return any ? Outcome::Ended : Outcome::None;
}

}  // namespace dfsearch
