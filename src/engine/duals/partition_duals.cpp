// Dual values by column generation (Gilmore and Gomory 1961).
//
// A linear program covers the kernels with the partitions known so far and tells the
// duals that would pay for them; partitions that such duals overpay are looked for, by
// growth and, where that finds none, by an exact enumeration, and join the program.
// When none is overpaid the sum of the duals is a bound of all fusions.
//
// Kernels that may be exchanged need no different duals, as the mean over all exchanges of
// good duals is as good: they are of one class, which has one row in the program,
// and of partitions that exchanges make of each other one is a column of it.
//
// The program is solved in floating point and only proposes.  What proves is the last
// enumeration, in whole numbers: it lists all partitions that are overpaid by the noise of
// the program, and their duals are lowered.  If those that are nearly overpaid are soon
// listed, too, duals are raised again, where rounding has lost a little.

#include "engine/duals/partition_duals.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace dfsearch {
namespace {

constexpr std::size_t kClasses = 256;  // the program takes their cube
constexpr std::size_t kGrown = 8;      // partitions before the program is solved again
constexpr std::size_t kPerRound = 30;  // the same of those enumerated
constexpr std::int64_t kStepsOfRound = 1'000;
constexpr std::int64_t kStepsOfAll = 20'000;  // to list all that are overpaid
constexpr std::int64_t kListingPerBest = 2;   // of the steps that the best took
constexpr std::size_t kNear = 3'000;          // partitions looked at once more
constexpr std::int64_t kStepsToRaise = 20'000;
constexpr std::int64_t kRaisingPerProof = 2;  // of the steps that the proof took
constexpr long double kSpared = 1.0L / 64;    // of duals that others will replace
constexpr auto kNoise = static_cast<FineTicks>(CoveringLp::kNoise * kFinePerTick);
// Sum of all duals: twice as much does not overflow.
constexpr Ticks kGreatest = kGreatestDual / kFinePerTick;

bool has_dual(const KernelCosts& kernel, PartitionDualSearch::Of of) {
  return of == PartitionDualSearch::Of::All || kernel.weight > Bytes{};
}

}  // namespace

FineTicks PartitionDuals::of_rest(const KernelSet& done) const {
  FineTicks sum = 0;
  for (std::size_t p = 0; p < kernels.size(); ++p) sum += done.contains(p) ? 0 : kernels[p];
  return sum;
}

FineTicks PartitionDuals::charges(const PartitionRules& rules, std::int32_t next_index) const {
  FineTicks sum = 0;
  for (std::size_t g = 0; g < rules.groups(); ++g) sum += charge[g] * rules.left(g, next_index);
  return sum;
}

void set_gains(const FusionTables& tables, PartitionDuals& duals) {
  const Overlap overlap = tables.problem().execution.overlap;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    const KernelCosts& kernel = tables.kernel(p);
    const KernelParts own = parts(overlap, kernel.compute, kernel.network, kernel.explicit_memory);
    std::array<FineTicks, 3> gains{};
    for (std::size_t r = 0; r < gains.size(); ++r) {
      gains[r] = std::max<FineTicks>(0, duals.kernels[p] - own[r] * kFinePerTick);
    }
    duals.gains.push_back(gains);
  }
}

bool PartitionDualSearch::is_possible(const FusionTables& tables, Of of) {
  std::size_t classes = 0;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    if (tables.order().first_alike()[p] == p && has_dual(tables.kernel(p), of)) ++classes;
  }
  return classes > 0 && classes <= kClasses;
}

PartitionDualSearch::PartitionDualSearch(const FusionTables& tables, Of of)
    : tables_(tables),
      pricing_(tables, PartitionPricing::Sets::OneOfEach),
      growth_(tables, pricing_),
      spared_(of == Of::All ? 0.0L : kSpared),
      steps_of_round_(kStepsOfRound) {
  const PartitionRules& rules = pricing_.rules();
  std::vector<std::size_t> class_of(tables.size());
  Ticks total = 0;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    if (!has_dual(tables.kernel(p), of)) continue;
    const std::size_t first = tables.order().first_alike()[p];
    class_of[p] = first == p ? alike_.size() : class_of[first];
    if (first == p) alike_.emplace_back();
    alike_[class_of[p]].push_back(p);
    total = std::min(total + std::min(pricing_.time_alone(p), kGreatest), kGreatest);
  }
  if (total == kGreatest || alike_.size() > kClasses) {
    stage_ = Stage::Ended;
    return;
  }
  std::vector<CoveringLp::Class> classes;
  for (const std::vector<std::size_t>& alike : alike_) {
    const std::size_t p = alike.front();
    classes.push_back({.cost = static_cast<double>(pricing_.time_alone(p)),
                       .group = rules.group(tables.kernel(p).backward),
                       .kernels = std::ssize(alike)});
  }
  std::vector<double> limits;
  for (std::size_t g = 0; g < rules.groups(); ++g) limits.push_back(rules.left(g, 0));
  program_.emplace(classes, std::move(limits));
}

bool PartitionDualSearch::advance(std::int64_t steps) {
  steps_ = steps;
  while (steps_ > 0 && stage_ != Stage::Ended) {
    tables_.deadline().check();
    switch (stage_) {
      case Stage::Program:
        solve_program();
        break;
      case Stage::Growth:
        grow_columns();
        break;
      case Stage::Pricing:
        price_columns();
        break;
      case Stage::Proof:
        prove();
        break;
      case Stage::Raising:
        raise();
        break;
      case Stage::Ended:
        break;
    }
  }
  return stage_ == Stage::Ended;
}

void PartitionDualSearch::solve_program() {
  switch (program_->solve(steps_)) {
    case CoveringLp::Outcome::Solved:
      stage_ = take_duals() ? Stage::Growth : Stage::Ended;
      return;
    case CoveringLp::Outcome::OutOfSteps:
      return;
    case CoveringLp::Outcome::Failed:
      stage_ = Stage::Ended;
      return;
  }
}

/// False if they are too high to be added up.
bool PartitionDualSearch::take_duals() {
  duals_.kernels.assign(tables_.size(), 0);
  long double sum = 0.0L;
  for (std::size_t c = 0; c < alike_.size(); ++c) {
    // A little less is sooner proved.
    const long double dual = program_->duals()[c] * (1.0L - spared_);
    sum += dual * static_cast<long double>(alike_[c].size());
    if (!(sum < static_cast<long double>(kGreatest))) return false;
    for (const std::size_t p : alike_[c]) {
      duals_.kernels[p] = static_cast<FineTicks>(std::floor(dual * kFinePerTick));
    }
  }
  for (std::size_t g = 0; g < program_->charges().size(); ++g) {
    const long double charge = program_->charges()[g];
    sum += charge * static_cast<long double>(tables_.size());
    if (!(sum < static_cast<long double>(kGreatest))) return false;
    duals_.charge[g] = static_cast<FineTicks>(std::ceil(charge * kFinePerTick));
  }
  return true;
}

/// From some classes, each time from others.
void PartitionDualSearch::grow_columns() {
  std::vector<PartitionColumn> found;
  for (std::size_t tried = 0; tried < alike_.size() && found.size() < kGrown && steps_ > 0;
       ++tried) {
    next_start_ = (next_start_ + 1) % alike_.size();
    auto grown = growth_.grow(alike_[next_start_].front(), duals_, kNoise, steps_);
    const auto same = [&](const PartitionColumn& other) { return other.kernels == grown->kernels; };
    if (grown && std::none_of(found.begin(), found.end(), same)) found.push_back(std::move(*grown));
  }
  for (const PartitionColumn& partition : found) add(partition);
  if (!found.empty()) {
    stage_ = Stage::Program;
  } else if (steps_ > 0) {
    stage_ = Stage::Pricing;
  }
}

/// While some overpaid partitions are found soon it does not matter whether they are all.
void PartitionDualSearch::price_columns() {
  const std::int64_t limit = std::min(steps_, steps_of_round_);
  const bool best_only = steps_of_round_ > kStepsOfAll;
  std::int64_t left = limit;
  auto found = pricing_.find(
      duals_, {.threshold = 0, .most = kPerRound, .best_only = best_only, .first = first_}, left);
  steps_ -= limit - left;
  first_ = found.complete ? 0 : found.next;
  const auto noise = std::partition_point(found.partitions.begin(), found.partitions.end(),
                                          [](const auto& p) { return p.excess > kNoise; });
  if (noise != found.partitions.begin()) {
    std::for_each(found.partitions.begin(), noise, [this](const auto& p) { add(p); });
    stage_ = Stage::Program;
  } else if (!found.complete) {
    steps_of_round_ = std::max(steps_of_round_, 4 * limit);
  } else if (!best_only && found.partitions.size() < kPerRound) {
    settle(found.partitions, limit - left);
  } else {
    steps_to_list_ = !best_only                   ? kNever
                     : limit - left < kStepsOfAll ? kListingPerBest * kStepsOfAll
                                                  : 0;
    most_overpaid_ = found.partitions.empty() ? 0 : found.partitions.front().excess;
    stage_ = Stage::Proof;
  }
}

void PartitionDualSearch::add(const PartitionColumn& partition) {
  std::vector<CoveringLp::Count> counts;
  for (std::size_t c = 0; c < alike_.size(); ++c) {
    const FineTicks kernels = count(partition.kernels, c);
    if (kernels > 0) counts.push_back({.of = c, .kernels = kernels});
  }
  program_->add(std::move(counts), partition.group, static_cast<double>(partition.time));
}

/// Lists all that are overpaid, if only by noise; where that takes too long it is enough to know
/// by how much at the most.
void PartitionDualSearch::prove() {
  const std::int64_t limit = std::min(steps_, steps_to_list_);
  std::int64_t left = limit;
  auto found = pricing_.find(duals_, {.threshold = 0, .most = kNear}, left);
  steps_ -= limit - left;
  if (!found.complete) {
    if (limit < steps_to_list_) return;  // the next call begins again
    lower_all();
    finish();
    return;
  }
  if (found.partitions.size() == kNear) {
    // What is not listed has no more excess than the last that is.
    for (FineTicks& charge : duals_.charge) charge += found.partitions.back().excess;
    for (PartitionColumn& partition : found.partitions) set_excess(partition);
  }
  settle(found.partitions, limit - left);
}

/// Makes the duals right to the last unit: none of these is overpaid.  The list took so many steps.
void PartitionDualSearch::settle(std::vector<PartitionColumn>& list, std::int64_t steps) {
  for (const PartitionColumn& partition : list) lower_for(partition, list);
  steps_to_raise_ = std::max(kStepsToRaise, kRaisingPerProof * steps);
  stage_ = Stage::Raising;
}

/// Each by what partitions are overpaid at most: a set loses that much, or all it is worth.
void PartitionDualSearch::lower_all() {
  for (FineTicks& dual : duals_.kernels) dual -= std::min(dual, most_overpaid_);
}

/// Hardly a dual could be raised any more, if those partitions that would then be overpaid
/// are soon listed.
void PartitionDualSearch::raise() {
  const FineTicks most = (kNoise + 1) * static_cast<FineTicks>(tables_.size());
  const std::int64_t limit = std::min(steps_, steps_to_raise_);
  std::int64_t left = limit;
  auto found = pricing_.find(duals_, {.threshold = -most - 1, .most = kNear}, left);
  steps_ -= limit - left;
  if (!found.complete && limit < steps_to_raise_) return;  // the next call begins again
  if (found.complete && found.partitions.size() < kNear) raise_by(most, found.partitions);
  finish();
}

void PartitionDualSearch::lower_for(const PartitionColumn& overpaid,
                                    std::vector<PartitionColumn>& list) {
  FineTicks excess = overpaid.excess;
  for (std::size_t c = 0; c < alike_.size() && excess > 0; ++c) {
    const FineTicks kernels = count(overpaid.kernels, c);
    if (kernels == 0) continue;
    const FineTicks less =
        std::min((excess + kernels - 1) / kernels, duals_.kernels[alike_[c].front()]);
    excess -= kernels * less;
    change(c, -less, list);
  }
}

/// Duals rise by `most` in all: partitions further than that from theirs stay right.
void PartitionDualSearch::raise_by(FineTicks most, std::vector<PartitionColumn>& list) {
  for (std::size_t c = 0; c < alike_.size(); ++c) {
    const auto kernels = std::ssize(alike_[c]);
    FineTicks more = most / kernels;
    for (const PartitionColumn& partition : list) {
      const FineTicks inside = count(partition.kernels, c);
      if (inside > 0) more = std::min(more, -partition.excess / inside);
    }
    if (more <= 0) continue;
    most -= more * kernels;
    change(c, more, list);
  }
}

/// The duals of a class.
void PartitionDualSearch::change(std::size_t alike, FineTicks by,
                                 std::vector<PartitionColumn>& list) {
  for (const std::size_t p : alike_[alike]) duals_.kernels[p] += by;
  for (PartitionColumn& partition : list) {
    partition.excess += by * count(partition.kernels, alike);
  }
}

/// Kernels of the class among them.
FineTicks PartitionDualSearch::count(const KernelSet& kernels, std::size_t alike) const {
  return std::count_if(alike_[alike].begin(), alike_[alike].end(),
                       [&](std::size_t p) { return kernels.contains(p); });
}

void PartitionDualSearch::set_excess(PartitionColumn& partition) const {
  partition.excess = -partition.time * kFinePerTick - duals_.charge[partition.group];
  partition.kernels.for_each([&](std::size_t p) { partition.excess += duals_.kernels[p]; });
}

void PartitionDualSearch::finish() {
  set_gains(tables_, duals_);
  result_ = std::move(duals_);
  stage_ = Stage::Ended;
}

}  // namespace dfsearch
