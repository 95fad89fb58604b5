// Kernels are decided in the order of a plan, inside or outside.  A partial set is dropped where no
// way to go on is worth enough: for some mixtures of the parts of the time the best way is known for
// every frontier and for the SRAM that is left (frontier_promise.hpp), as if sets with gaps were
// partitions.  Few partial sets are met that lead to nothing.
//
// While nothing of the set is in the frontier, the next kernel to be inside is chosen at once: what
// is left out on the way costs nothing.
//
// Against all sets: tests/engine/duals/partition_pricing_test.cpp.

#include "engine/duals/frontier_enumeration.hpp"

#include <algorithm>
#include <utility>

namespace dfsearch {
namespace {

constexpr std::int64_t kSharesOf = 1;  // quarters, of a mixture of two parts
constexpr std::int64_t kNumbersPerStep = 256;
constexpr std::int64_t kStepsBetweenLooks = 1024;
// A decision takes as long as so many steps of an enumeration that keeps to an order.
constexpr std::int64_t kStepsPerDecision = 3;

}  // namespace

FrontierEnumeration::FrontierEnumeration(const FusionTables& tables,
                                         const PartitionPricing& pricing,
                                         const std::vector<FrontierPlanOfGroup>& plans,
                                         const Duals& duals, const PartitionPricing::Query& query,
                                         std::int64_t& steps)
    : tables_(tables),
      pricing_(pricing),
      duals_(duals),
      query_(query),
      sram_(about_sram(tables)),
      threshold_(query.threshold),
      steps_(steps),
      deadline_(tables.deadline(), kStepsBetweenLooks),
      inside_(tables.size()),
      after_(tables.size() + 1, KernelSet(tables.size())),
      before_(tables.size() + 1, KernelSet(tables.size())) {
  std::size_t states = 0;
  for (const FrontierPlanOfGroup& of : plans) {
    states += FrontierPromise::states(of.plan);
    adds_up_ = adds_up_ && FrontierGains(tables, of.plan, duals).adds_up;
  }
  if (!adds_up_) return;
  std::size_t place = 0;
  std::size_t bytes = 0;
  for (const FrontierPlanOfGroup& of : plans) {
    plans_.push_back(planned(of, place, states));
    place += of.plan.steps.size();
    for (const FrontierPromise& promise : plans_.back().promises) bytes += promise.heap_bytes();
    bytes += plans_.back().decided.size() * (sizeof(KernelSet) + tables.size() / 8);
  }
  memory_ = tables.allowance().charge(bytes);
}

FrontierEnumeration::Planned FrontierEnumeration::planned(const FrontierPlanOfGroup& of,
                                                          std::size_t first_place,
                                                          std::size_t states) {
  Planned planned{
      .plan = of.plan,
      .group = of.group,
      .first_place = first_place,
      .gains = FrontierGains(tables_, of.plan, duals_),
      .timed = timed_parts(tables_, of.plan),
      .promises = {},
      .mixtures = {},
      .decided = {},
  };
  const std::vector<FrontierShares> mixtures = part_mixtures(planned.timed, kSharesOf);
  const std::size_t rooms = FrontierPromise::rooms(states, mixtures.size());
  steps_ -=
      static_cast<std::int64_t>(mixtures.size() * FrontierPromise::states(of.plan) * (rooms + 1)) /
          kNumbersPerStep +
      1;
  planned.promises.resize(mixtures.size());
  for (std::size_t m = 0; m < mixtures.size(); ++m) {
    tables_.deadline().check();
    FrontierPromise& promise = planned.promises[m];
    promise.find(of.plan, {}, planned.gains.worth(mixtures[m], planned.timed), sram_, rooms);
    planned.mixtures.emplace_back(mixtures[m], promise);
  }
  KernelSet decided(tables_.size());
  for (std::size_t p = 0; p < tables_.size(); ++p) decided.insert(p);
  for (const FrontierStep& step : of.plan.steps) decided.erase(step.kernel);
  planned.decided.push_back(decided);
  for (const FrontierStep& step : of.plan.steps) {
    decided.insert(step.kernel);
    planned.decided.push_back(decided);
  }
  return planned;
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
  for (std::size_t p = 0; p < tables_.size(); ++p) {
    const KernelCosts& kernel = tables_.kernel(p);
    if (!kernel.lonely || !kernel.escapes) continue;
    KernelSet alone(tables_.size());
    alone.insert(p);
    const std::size_t group = pricing_.group(alone);
    const Ticks time = pricing_.time_alone(p);
    keep({.kernels = std::move(alone),
          .group = group,
          .time = time,
          .excess = duals_.kernels[p] - time * kFinePerTick - duals_.charge[group],
          .size = 1});
  }
}

/// The sets whose first kernel has one of these places.  Whether the steps sufficed.
bool FrontierEnumeration::firsts(std::size_t begin, std::size_t end) {
  for (const Planned& planned : plans_) {
    now_ = &planned;
    const std::size_t first = planned.first_place;
    const std::size_t size = planned.plan.steps.size();
    for (std::size_t s = begin > first ? begin - first : 0; s < size && first + s < end; ++s) {
      if (!may_exceed(s, {})) break;
      next_ = first + s;
      put_in(s, {});
      if (--steps_ < 0) return false;
    }
  }
  return true;
}

/// The step is the next one to be decided.
void FrontierEnumeration::go_on(std::size_t step, const Partial& set) {
  deadline_.check(1);
  steps_ -= kStepsPerDecision;
  if (steps_ < 0) return;
  const std::vector<FrontierStep>& steps = now_->plan.steps;
  if (set.frontier == 0) {
    close();
    for (std::size_t s = step; s < steps.size() && may_exceed(s, set); ++s) {
      put_in(s, set);
      if (is_between(steps[s].kernel)) return;
    }
    return;
  }
  const FrontierStep& next = steps[step];
  if (!is_between(next.kernel)) {
    Partial without = set;
    without.frontier = next.after(set.frontier, false);
    const Ticks crosses = next.crossing(set.frontier, false);
    for (const std::size_t r : now_->timed) without.excess[r] -= now_->gains.memory[r] * crosses;
    if (may_exceed(step + 1, without)) go_on(step + 1, without);
  }
  put_in(step, set);
}

void FrontierEnumeration::put_in(std::size_t step, const Partial& set) {
  const FrontierStep& next = now_->plan.steps[step];
  const std::size_t p = next.kernel;
  if (static_cast<std::int64_t>(size_) >= tables_.cores()) return;
  if (!pricing_.partners(p).contains_all(inside_)) return;
  Partial with = set;
  with.sram += next.sram_inside(set.frontier);
  if (with.sram > sram_) return;
  with.frontier = next.after(set.frontier, true);
  const Ticks crosses = next.crossing(set.frontier, true);
  for (const std::size_t r : now_->timed) {
    with.excess[r] += now_->gains.of_steps[step][r] - now_->gains.memory[r] * crosses;
  }
  if (!may_exceed(step + 1, with)) return;
  after_[size_ + 1] = after_[size_];
  after_[size_ + 1] |= pricing_.descendants(p);
  before_[size_ + 1] = before_[size_];
  before_[size_ + 1] |= pricing_.ancestors(p);
  ++size_;
  inside_.insert(p);
  // What lies between two kernels must not be outside.
  KernelSet between = after_[size_];
  between &= before_[size_];
  between &= now_->decided[step + 1];
  if (inside_.contains_all(between)) go_on(step + 1, with);
  inside_.erase(p);
  --size_;
}

bool FrontierEnumeration::may_exceed(std::size_t step, const Partial& set) const {
  const FineTicks above = kQuarters * std::clamp(threshold_ + duals_.charge[now_->group],
                                                 -kGreatestExcess, kGreatestExcess);
  const std::size_t place = now_->promises.front().place(step, set.frontier, sram_ - set.sram);
  return std::all_of(now_->mixtures.begin(), now_->mixtures.end(),
                     [&](const auto& mixture) { return mixture.most(set.excess, place) > above; });
}

void FrontierEnumeration::close() {
  PartitionSums sums;
  KernelSet kernels(tables_.size());
  inside_.for_each([&](std::size_t p) {
    sums.add(tables_, duals_, p, kernels);
    kernels.insert(p);
  });
  steps_ -= sums.kernels / 4;
  // Sharing the cores out takes long.
  if (tables_.kernel(kernels.first_from(0)).options != nullptr) steps_ -= 4 * sums.kernels;
  const Ticks time = pricing_.time(kernels, sums.compute, sums.network, sums.memory);
  keep({.kernels = std::move(kernels),
        .group = now_->group,
        .time = time,
        .excess = sums.dual - time * kFinePerTick - duals_.charge[now_->group],
        .size = sums.kernels});
}

void FrontierEnumeration::keep(PartitionColumn&& partition) {
  if (partition.excess <= threshold_) return;
  found_.push_back(std::move(partition));
  if (found_.size() < 4 * query_.most) return;
  keep_best(found_, query_.most);
  threshold_ = std::max(threshold_, found_.back().excess);
}

}  // namespace dfsearch
