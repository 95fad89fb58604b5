// Kernels are decided in the order of a plan, inside or outside.  A partial set is dropped where no
// way to go on is worth enough: for some mixtures of the parts of the time the best way is known for
// every frontier and for the SRAM that is left (frontier_promise.hpp), as if sets with gaps were
// partitions.  Few partial sets are met that lead to nothing.
//
// While nothing of the set is in the frontier, the next kernel to be inside is chosen at once: what
// is left out on the way costs nothing.
//
// What is not looked through after some time is left to be gone on with by any thread: of some first
// kernels there are a hundred times as many sets as of others.
//
// Against all sets: tests/engine/duals/partition_pricing_test.cpp.

#include "engine/duals/frontier_walk.hpp"

#include <algorithm>
#include <utility>

namespace dfsearch {
namespace {

constexpr std::int64_t kStepsBetweenLooks = 1024;
// A decision takes as long as so many steps of an enumeration that keeps to an order.
constexpr std::int64_t kStepsPerDecision = 3;

}  // namespace

bool PromisedPlan::may_exceed(FineTicks threshold, std::size_t step, const PartialSet& set) const {
  const FineTicks above =
      kQuarters * std::clamp(threshold + charge, -kGreatestExcess, kGreatestExcess);
  const std::size_t place = promises.front().place(step, set.frontier, sram - set.sram);
  return std::all_of(mixtures.begin(), mixtures.end(),
                     [&](const auto& mixture) { return mixture.most(set.excess, place) > above; });
}

FrontierWalk::FrontierWalk(const FusionTables& tables, const PartitionPricing& pricing,
                           const Duals& duals, const PartitionPricing::Query& query)
    : tables_(tables),
      pricing_(pricing),
      duals_(duals),
      deadline_(tables.deadline(), kStepsBetweenLooks),
      query_(query),
      inside_(tables.size()),
      after_(tables.size() + 1, KernelSet(tables.size())),
      before_(tables.size() + 1, KernelSet(tables.size())) {}

FrontierWalk::Found FrontierWalk::find(const PromisedPlan& plan, const Branch& branch,
                                       FineTicks threshold, std::int64_t steps) {
  if (steps < 0) return {};
  plan_ = &plan;
  threshold_ = threshold;
  steps_ = steps;
  steps_of_branch_ = query_.steps_of_branch;
  first_ = branch.first;
  if (branch.inside.empty()) {
    put_in(branch.first, {});
  } else if (may_exceed(branch.step, branch.set)) {
    begin(branch);
  }
  --steps_;
  found_.steps = steps - steps_;
  return std::exchange(found_, {});
}

void FrontierWalk::begin(const Branch& branch) {
  for (const std::uint32_t p : branch.inside) join(p);
  go_on(branch.step, branch.set);
  for (const std::uint32_t p : branch.inside) leave(p);
}

/// From then on what is before and after it is, too.
void FrontierWalk::join(std::size_t kernel) {
  after_[size_ + 1] = after_[size_];
  after_[size_ + 1] |= pricing_.descendants(kernel);
  before_[size_ + 1] = before_[size_];
  before_[size_ + 1] |= pricing_.ancestors(kernel);
  ++size_;
  inside_.insert(kernel);
}

/// The last that joined.
void FrontierWalk::leave(std::size_t kernel) {
  inside_.erase(kernel);
  --size_;
}

void FrontierWalk::keep_for_later(std::size_t step, const PartialSet& set) {
  Branch branch{.first = first_, .inside = {}, .step = step, .set = set};
  inside_.for_each([&](std::size_t p) { branch.inside.push_back(static_cast<std::uint32_t>(p)); });
  found_.left.push_back(std::move(branch));
}

/// The step is the next one to be decided.
void FrontierWalk::go_on(std::size_t step, const PartialSet& set) {
  deadline_.check(1);
  if (steps_ >= 0 && steps_of_branch_ < 0) {
    keep_for_later(step, set);
    return;
  }
  steps_ -= kStepsPerDecision;
  steps_of_branch_ -= kStepsPerDecision;
  if (steps_ < 0) return;
  const std::vector<FrontierStep>& steps = plan_->plan.steps;
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
    PartialSet without = set;
    without.frontier = next.after(set.frontier, false);
    const Ticks crosses = next.crossing(set.frontier, false);
    for (const std::size_t r : plan_->timed) without.excess[r] -= plan_->gains.memory[r] * crosses;
    if (may_exceed(step + 1, without)) go_on(step + 1, without);
  }
  put_in(step, set);
}

void FrontierWalk::put_in(std::size_t step, const PartialSet& set) {
  const FrontierStep& next = plan_->plan.steps[step];
  const std::size_t p = next.kernel;
  if (static_cast<std::int64_t>(size_) >= tables_.cores()) return;
  if (!pricing_.partners(p).contains_all(inside_)) return;
  PartialSet with = set;
  with.sram += next.sram_inside(set.frontier);
  if (with.sram > plan_->sram) return;
  with.frontier = next.after(set.frontier, true);
  const Ticks crosses = next.crossing(set.frontier, true);
  for (const std::size_t r : plan_->timed) {
    with.excess[r] += plan_->gains.of_steps[step][r] - plan_->gains.memory[r] * crosses;
  }
  if (!may_exceed(step + 1, with)) return;
  join(p);
  // What lies between two kernels must not be outside.
  KernelSet between = after_[size_];
  between &= before_[size_];
  between &= plan_->decided[step + 1];
  if (inside_.contains_all(between)) go_on(step + 1, with);
  leave(p);
}

void FrontierWalk::close() {
  PartitionSums sums;
  KernelSet kernels(tables_.size());
  inside_.for_each([&](std::size_t p) {
    sums.add(tables_, duals_, p, kernels);
    kernels.insert(p);
  });
  // Sharing the cores out takes long.
  const bool shares = tables_.kernel(kernels.first_from(0)).options != nullptr;
  const std::int64_t steps = sums.kernels / 4 + (shares ? 4 * sums.kernels : 0);
  steps_ -= steps;
  steps_of_branch_ -= steps;
  const Ticks time = pricing_.time(kernels, sums.compute, sums.network, sums.memory);
  const FineTicks excess = sums.dual - time * kFinePerTick - plan_->charge;
  if (excess <= threshold_) return;
  std::vector<PartitionColumn>& partitions = found_.partitions;
  partitions.push_back({.kernels = std::move(kernels),
                        .group = plan_->group,
                        .time = time,
                        .excess = excess,
                        .size = sums.kernels});
  if (partitions.size() < 2 * query_.most) return;
  keep_best(partitions, query_.most);
  threshold_ = std::max(threshold_, partitions.back().excess);
}

}  // namespace dfsearch
