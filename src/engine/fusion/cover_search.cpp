// All fusions that take no more than the bound of the duals and some slack are exact covers of the
// kernels by partitions that each have no more slack than that (docs/duals.md, section 9).  For
// little slack these are few, they are listed, and all covers are looked through: either the best is
// a fusion, which nothing undercuts, or every fusion has more slack and the bound rises by it.

#include "engine/fusion/cover_search.hpp"

#include <algorithm>

#include "engine/fusion/exact_covers.hpp"

namespace dfsearch {
namespace {

constexpr int kFirstSlack = 14;  // of the bound, by a power of two
constexpr std::size_t kMostPartitions = 100'000;
// Of more than that: a fusion of some of them is soon found or not at all.
constexpr std::size_t kTried = 20'000;
constexpr std::int64_t kPartOfSteps = 4;

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
    switch (find_within(slack_)) {
      case Outcome::None:
        break;
      case Outcome::OutOfSteps:
        return false;
      case Outcome::Ended:
        return true;
    }
    slack_ *= 2;
  }
  return false;
}

CoverSearch::Outcome CoverSearch::find_within(FineTicks slack) {
  // An enumeration may hold twelve times as many before it keeps the best.
  const std::size_t bytes = sizeof(PartitionColumn) + tables_.size() / 8;
  if (slack > bound_ || tables_.allowance().is_tight(12 * kMostPartitions * bytes)) {
    return Outcome::Ended;
  }
  auto list = pricing_.find(duals_, {.threshold = -slack - 1, .most = kMostPartitions}, steps_);
  if (!list.complete) return Outcome::OutOfSteps;
  const bool all = list.partitions.size() < kMostPartitions;
  if (!all) list.partitions.resize(kTried);
  const MemoryCharge memory = tables_.allowance().charge(list.partitions.size() * bytes);
  auto best = ExactCovers(tables_, pricing_, duals_, list.partitions).find(slack + 1, steps_);
  if (best.fusion && best.fusion->time < best_time_) {
    best_time_ = best.fusion->time;
    fusion_ = std::move(best.fusion);
  }
  if (!all) return Outcome::Ended;
  if (!best.complete) return Outcome::OutOfSteps;
  // Fusions take whole ticks: more slack than `slack`, or just what the best cover has.
  const bool any = best.slack <= slack;
  least_ = tables_.weight_loads() +
           (any ? ticks_of(bound_ + best.slack) : (bound_ + slack) / kFinePerTick + 1);
  return any ? Outcome::Ended : Outcome::None;
}

}  // namespace dfsearch
