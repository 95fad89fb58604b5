// All fusions that take no more than the bound of the duals and some slack are exact covers of the
// kernels by partitions that each have no more slack than that (docs/duals.md, section 8).  For
// little slack these are few, they are listed, and all covers are looked through: either the best is
// a fusion, which nothing undercuts, or every fusion has more slack and the bound rises by it.

#include "engine/fusion/cover_search.hpp"

#include <algorithm>

namespace dfsearch {
namespace {

constexpr int kFirstSlack = 14;  // of the bound, by a power of two
constexpr std::int64_t kPartOfSteps = 4;
constexpr std::size_t kHardlyMore = 8;  // less than one of so many more

}  // namespace

CoverSearch::CoverSearch(const FusionTables& tables, const PartitionDuals& duals, SharedWork* work,
                         CoverLists lists)
    : tables_(tables),
      duals_(duals),
      pricing_(tables, PartitionPricing::Sets::Ordered, work),
      length_(lists.first),
      most_(lists.most),
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
    slack_ = std::max(2 * slack_, kFinePerTick);
  }
  return false;
}

/// Lists all partitions whose slack is at most slack_.  If that adds hardly any to those of the last
/// list, another search for covers would take as long again for next to nothing, so slack_ is doubled
/// first.  If they are more than a list may hold, those of least slack are kept, and the slack up to
/// which none is missing becomes the limit.
CoverSearch::Outcome CoverSearch::list() {
  std::optional<std::vector<PartitionColumn>> last;  // which are hardly more
  FineTicks listed = excluded_;                      // all of this slack
  for (;;) {
    // An enumeration may hold twelve times as many before it keeps the best.
    const bool is_possible =
        slack_ <= bound_ && !tables_.allowance().is_tight(12 * length_ * bytes_of_one());
    PartitionPricing::Found found;
    if (is_possible) {
      found = pricing_.find(duals_, {.threshold = -slack_ - 1, .most = length_}, steps_);
    }
    if (!found.complete) {
      if (!last) return is_possible ? Outcome::OutOfSteps : Outcome::Ended;
      break;
    }
    std::vector<PartitionColumn>& partitions = found.partitions;
    const bool is_cut = partitions.size() == length_;
    // None is missing of those that have less slack than the last one.
    const FineTicks slack = is_cut ? -partitions.back().excess - 1 : slack_;
    while (!partitions.empty() && -partitions.back().excess > slack) partitions.pop_back();
    const bool is_longer = partitions.size() >= tried_ + tried_ / kHardlyMore;
    if (slack > listed) {
      listed = slack;
      last = std::move(partitions);
      if (is_longer) break;
    }
    if (!is_cut) {
      slack_ *= 2;
    } else if (length_ < most_) {
      length_ = most_;
    } else {
      if (!last) return Outcome::Ended;
      break;
    }
  }
  keep(std::move(*last), listed);
  return Outcome::None;
}

/// All that have the slack.
void CoverSearch::keep(std::vector<PartitionColumn>&& partitions, FineTicks slack) {
  slack_ = slack;
  list_ = std::make_unique<Listed>();
  list_->partitions = std::move(partitions);
  list_->memory = tables_.allowance().charge(list_->partitions.size() * bytes_of_one());
  list_->best = slack_ + 1;
  list_->covers.emplace(tables_, pricing_, duals_, list_->partitions);
}

CoverSearch::Outcome CoverSearch::find_covers() {
  // Fusions take whole ticks.
  auto best = list_->covers->find(list_->best, steps_, kFinePerTick);
  list_->best = best.slack;
  if (best.fusion && best.fusion->time < best_time_) {
    best_time_ = best.fusion->time;
    fusion_ = std::move(best.fusion);
  }
  if (!best.complete) return Outcome::OutOfSteps;
  // Fusions take whole ticks: more slack than `slack_`, or just what the best cover has.
  const bool any = best.slack <= slack_;
  least_ = tables_.weight_loads() +
           (any ? ticks_of(bound_ + best.slack) : (bound_ + slack_) / kFinePerTick + 1);
  excluded_ = slack_;
  tried_ = list_->partitions.size();
  list_.reset();
  return any ? Outcome::Ended : Outcome::None;
}

}  // namespace dfsearch
