// Dual values by column generation (Gilmore and Gomory 1961).
//
// A linear program covers the kernels with the partitions known so far and tells the
// duals that would pay for them; the partitions that such duals overpay most are
// looked for, by an exact enumeration, and join the program.  When none is
// overpaid the sum of the duals is a bound of all fusions.  The program is solved in
// floating point and only proposes.  What proves is the last enumeration, in whole
// numbers: it lists all partitions near their duals, and the duals are lowered for those
// above and raised where all are below.

#include "engine/partition_duals.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace dfsearch {
namespace {

constexpr std::size_t kKernels = 256;  // the program takes their cube
constexpr std::size_t kPerRound = 30;
constexpr std::int64_t kStepsOfRound = 1'000;
constexpr std::size_t kNear = 3'000;  // partitions looked at once more
constexpr auto kNoise = static_cast<FineTicks>(CoveringLp::kNoise * kFinePerTick);
// Sum of all duals: twice as much does not overflow.
constexpr Ticks kGreatest = (Ticks{1} << 62) / kFinePerTick;

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

PartitionDualSearch::PartitionDualSearch(const FusionTables& tables)
    : tables_(tables), pricing_(tables), steps_of_round_(kStepsOfRound) {
  const PartitionRules& rules = pricing_.rules();
  std::vector<CoveringLp::Single> alone;
  Ticks total = 0;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    const Ticks time = std::min(pricing_.time_alone(p), kGreatest);
    alone.push_back(
        {.cost = static_cast<double>(time), .group = rules.group(tables.kernel(p).backward)});
    total = std::min(total + time, kGreatest);
  }
  if (total == kGreatest || tables.size() > kKernels) {
    stage_ = Stage::Ended;
  } else {
    std::vector<double> limits;
    for (std::size_t g = 0; g < rules.groups(); ++g) limits.push_back(rules.left(g, 0));
    program_.emplace(alone, std::move(limits));
  }
}

bool PartitionDualSearch::advance(std::int64_t steps) {
  steps_ = steps;
  while (steps_ > 0 && stage_ != Stage::Ended) {
    if (stage_ == Stage::Program) {
      solve_program();
    } else if (stage_ == Stage::Pricing) {
      add_columns();
    } else {
      prove();
    }
  }
  return stage_ == Stage::Ended;
}

void PartitionDualSearch::solve_program() {
  switch (program_->solve(steps_)) {
    case CoveringLp::Outcome::Solved:
      stage_ = take_duals() ? Stage::Pricing : Stage::Ended;
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
  duals_.kernels.clear();
  long double sum = 0.0L;
  for (const long double dual : program_->duals()) {
    duals_.kernels.push_back(static_cast<FineTicks>(std::floor(dual * kFinePerTick)));
    sum += dual;
  }
  for (std::size_t g = 0; g < program_->charges().size(); ++g) {
    const long double charge = program_->charges()[g];
    duals_.charge[g] = static_cast<FineTicks>(std::ceil(charge * kFinePerTick));
    sum += charge * static_cast<long double>(tables_.size());
  }
  return sum < static_cast<long double>(kGreatest);
}

/// While some overpaid partitions are found soon it does not matter whether they are all.
void PartitionDualSearch::add_columns() {
  const std::int64_t limit = std::min(steps_, steps_of_round_);
  std::int64_t left = limit;
  auto found = pricing_.find(duals_, {.threshold = kNoise, .most = kPerRound}, left);
  steps_ -= limit - left;
  if (found.partitions.empty()) {
    if (found.complete) {
      stage_ = Stage::Proof;
    } else {
      steps_of_round_ = std::max(steps_of_round_, 4 * limit);
    }
    return;
  }
  for (PartitionColumn& partition : found.partitions) {
    program_->add(std::move(partition.kernels), partition.group,
                  static_cast<double>(partition.time));
  }
  stage_ = Stage::Program;
}

/// Makes the duals right to the last unit: no partition is overpaid, and hardly a dual
/// could be raised.
void PartitionDualSearch::prove() {
  const FineTicks near = (kNoise + 1) * static_cast<FineTicks>(tables_.size());
  auto found = pricing_.find(duals_, {.threshold = -near, .most = kNear}, steps_);
  if (!found.complete) return;  // the next call begins again
  std::vector<PartitionColumn>& list = found.partitions;
  const bool all = list.size() < kNear;
  if (!all && list.back().excess > 0) {
    // What is not listed has no more excess than the last that is.
    for (FineTicks& charge : duals_.charge) charge += list.back().excess;
    for (PartitionColumn& partition : list) set_excess(partition);
  }
  for (const PartitionColumn& partition : list) lower_for(partition, list);
  if (all) raise(near, list);
  finish();
}

void PartitionDualSearch::lower_for(const PartitionColumn& overpaid,
                                    std::vector<PartitionColumn>& list) {
  FineTicks excess = overpaid.excess;
  overpaid.kernels.for_each([&](std::size_t p) {
    const FineTicks less = std::min(excess, duals_.kernels[p]);
    if (less <= 0) return;
    excess -= less;
    change(p, -less, list);
  });
}

/// Duals rise by `most` in all: partitions further than that from theirs stay right.
void PartitionDualSearch::raise(FineTicks most, std::vector<PartitionColumn>& list) {
  for (std::size_t p = 0; p < duals_.kernels.size(); ++p) {
    FineTicks more = most;
    for (const PartitionColumn& partition : list) {
      if (partition.kernels.contains(p)) more = std::min(more, -partition.excess);
    }
    if (more <= 0) continue;
    most -= more;
    change(p, more, list);
  }
}

void PartitionDualSearch::change(std::size_t p, FineTicks by, std::vector<PartitionColumn>& list) {
  duals_.kernels[p] += by;
  for (PartitionColumn& partition : list) {
    if (partition.kernels.contains(p)) partition.excess += by;
  }
}

void PartitionDualSearch::set_excess(PartitionColumn& partition) const {
  partition.excess = -partition.time * kFinePerTick - duals_.charge[partition.group];
  partition.kernels.for_each([&](std::size_t p) { partition.excess += duals_.kernels[p]; });
}

void PartitionDualSearch::finish() {
  const Overlap overlap = tables_.problem().execution.overlap;
  for (std::size_t p = 0; p < tables_.size(); ++p) {
    const KernelCosts& kernel = tables_.kernel(p);
    const KernelParts own = parts(overlap, kernel.compute, kernel.network, kernel.explicit_memory);
    std::array<FineTicks, 3> gains{};
    for (std::size_t r = 0; r < gains.size(); ++r) {
      gains[r] = std::max<FineTicks>(0, duals_.kernels[p] - own[r] * kFinePerTick);
    }
    duals_.gains.push_back(gains);
  }
  result_ = std::move(duals_);
  stage_ = Stage::Ended;
}

}  // namespace dfsearch
