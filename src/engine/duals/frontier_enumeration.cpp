// Sets are told apart by their first kernel in the order of a plan.  Some of these are looked through
// at a time (frontier_walk.hpp), maybe by several threads (ordered_walks.hpp).
//
// Against all sets: tests/engine/duals/partition_pricing_test.cpp.

#include "engine/duals/frontier_enumeration.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace dfsearch {
namespace {

constexpr std::int64_t kShareStep = 1;  // quarters, of a mixture of two parts
constexpr std::int64_t kNumbersPerStep = 256;
// First kernels at a time: fewer, where what they find takes much memory.
constexpr std::size_t kLeastAtOnce = 4;
constexpr std::size_t kMostAtOnce = 16;
constexpr std::size_t kFoundAtOnce = 100'000;
constexpr std::size_t kBytesOfBranch = sizeof(FrontierWalk::Branch) + 128;

}  // namespace

FrontierEnumeration::FrontierEnumeration(const FusionTables& tables,
                                         const PartitionPricing& pricing,
                                         const std::vector<FrontierPlanOfGroup>& plans,
                                         const Duals& duals, const PartitionPricing::Query& query,
                                         SharedWork& work, std::int64_t& steps)
    : tables_(tables),
      pricing_(pricing),
      duals_(duals),
      query_(query),
      work_(work),
      threshold_(query.threshold),
      steps_(steps),
      walks_(work, [&] { return std::make_unique<FrontierWalk>(tables, pricing, duals, query_); }) {
  std::size_t states = 0;
  std::vector<FrontierGains> gains;
  for (const FrontierPlanOfGroup& of : plans) {
    states += FrontierPromise::states(of.plan);
    gains.emplace_back(tables, of.plan, duals);
    adds_up_ = adds_up_ && gains.back().adds_up;
  }
  if (!adds_up_) return;
  std::size_t place = 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    plans_.push_back(promised(plans[i], std::move(gains[i]), place, states));
    place += plans[i].plan.steps.size();
    for (const FrontierPromise& promise : plans_.back().promises) bytes += promise.heap_bytes();
    bytes += plans_.back().decided.size() * (sizeof(KernelSet) + tables.size() / 8);
  }
  memory_ = tables.allowance().charge(bytes);
}

PromisedPlan FrontierEnumeration::promised(const FrontierPlanOfGroup& of, FrontierGains&& gains,
                                           std::size_t first_place, std::size_t states) {
  PromisedPlan promised{
      .plan = of.plan,
      .group = of.group,
      .first_place = first_place,
      .sram = about_sram(tables_),
      .charge = duals_.charge[of.group],
      .gains = std::move(gains),
      .timed = timed_parts(tables_, of.plan),
      .promises = {},
      .mixtures = {},
      .decided = {},
  };
  const std::vector<FrontierShares> mixtures = part_mixtures(promised.timed, kShareStep);
  const std::size_t rooms = FrontierPromise::rooms(states, mixtures.size());
  steps_ -=
      static_cast<std::int64_t>(mixtures.size() * FrontierPromise::states(of.plan) * (rooms + 1)) /
          kNumbersPerStep +
      1;
  promised.promises.resize(mixtures.size());
  work_.run(mixtures.size(), [&](std::size_t m) {
    tables_.deadline().check();
    promised.promises[m].find(of.plan, promised.gains.worth(mixtures[m], promised.timed),
                              promised.sram, rooms);
  });
  for (std::size_t m = 0; m < mixtures.size(); ++m) {
    promised.mixtures.emplace_back(mixtures[m], promised.promises[m]);
  }
  KernelSet decided(tables_.size());
  for (std::size_t p = 0; p < tables_.size(); ++p) decided.insert(p);
  for (const FrontierStep& step : of.plan.steps) decided.erase(step.kernel);
  promised.decided.push_back(decided);
  for (const FrontierStep& step : of.plan.steps) {
    decided.insert(step.kernel);
    promised.decided.push_back(decided);
  }
  return promised;
}

PartitionPricing::Found FrontierEnumeration::run() {
  if (!adds_up_) {
    steps_ = -1;
    return {};
  }
  --steps_;
  add_alone();
  bool complete = steps_ >= 0 && firsts(query_.first, ~std::size_t{0});
  if (complete && query_.first > 0) complete = firsts(0, query_.first);
  keep_best(found_, query_.most);
  return {.partitions = std::move(found_), .complete = complete, .next = complete ? 0 : next_};
}

/// What fits SRAM by itself alone.
void FrontierEnumeration::add_alone() {
  std::vector<PartitionColumn> all;
  for (std::size_t p = 0; p < tables_.size(); ++p) {
    const KernelCosts& kernel = tables_.kernel(p);
    if (!kernel.lonely || !kernel.escapes) continue;
    PartitionColumn alone = pricing_.alone(p, duals_);
    if (alone.excess > threshold_) all.push_back(std::move(alone));
  }
  keep(std::move(all));
}

/// The sets whose first kernel has one of these places.  Whether the steps sufficed.
bool FrontierEnumeration::firsts(std::size_t begin, std::size_t end) {
  const std::size_t at_once =
      query_.at_once > 0 ? query_.at_once
                         : std::clamp(kFoundAtOnce / query_.most, kLeastAtOnce, kMostAtOnce);
  for (const PromisedPlan& plan : plans_) {
    const std::size_t first = plan.first_place;
    const std::size_t last = std::min(plan.plan.steps.size(), end > first ? end - first : 0);
    std::size_t step = begin > first ? begin - first : 0;
    while (step < last) {
      std::size_t count = 0;
      while (count < std::min(at_once, last - step) &&
             plan.may_exceed(threshold_, step + count, {})) {
        ++count;
      }
      if (count == 0) break;
      if (!some_firsts(plan, step, count)) return false;
      step += count;
    }
  }
  return true;
}

/// Round by round: what long branches leave comes in the next one, after what all of them have found.
bool FrontierEnumeration::some_firsts(const PromisedPlan& plan, std::size_t begin,
                                      std::size_t count) {
  std::vector<FrontierWalk::Branch> branches(count);
  for (std::size_t i = 0; i < count; ++i) branches[i].first = begin + i;
  while (!branches.empty()) {
    std::vector<FrontierWalk::Branch> left;
    const FineTicks threshold = threshold_;  // of all of them, though it rises meanwhile
    const bool sufficed = walks_.run(
        branches.size(), steps_,
        [&](FrontierWalk& walk, std::size_t i, std::int64_t steps) {
          return walk.find(plan, branches[i], threshold, steps);
        },
        [&](std::size_t i, FrontierWalk::Found&& found) {
          left.insert(left.end(), std::make_move_iterator(found.left.begin()),
                      std::make_move_iterator(found.left.end()));
          // All first kernels before are done with.
          next_ = plan.first_place + (left.empty() ? branches[i] : left.front()).first;
          keep(std::move(found.partitions));
        });
    if (!sufficed || found_.size() >= query_.enough) return false;
    branches = std::move(left);
    memory_of_branches_ = tables_.allowance().charge(branches.size() * kBytesOfBranch);
  }
  return true;
}

void FrontierEnumeration::keep(std::vector<PartitionColumn>&& partitions) {
  found_.insert(found_.end(), std::make_move_iterator(partitions.begin()),
                std::make_move_iterator(partitions.end()));
  if (found_.size() < 4 * query_.most) return;
  keep_best(found_, query_.most);
  threshold_ = std::max(threshold_, found_.back().excess);
}

}  // namespace dfsearch
