// Exact pricing: the partitions that are overpaid are enumerated along a path decomposition
// (partition_pricing.hpp, docs/duals.md, sections 3 and 4).
//
// Kernels that may be exchanged need no different duals, as the mean over all exchanges of
// good duals is as good: they are of one class, which has one row in the program.
//
// The program is solved in floating point and only proposes.  What proves is the last
// enumeration, in whole numbers: it lists all partitions that are overpaid by the noise of
// the program, and their duals are lowered.  If those that are nearly overpaid are soon
// listed, too, duals are raised again, where rounding has lost a little.

#include "engine/duals/exact_duals.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/duals/kernel_classes.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kMostClasses = 512;        // the program takes their cube
constexpr std::size_t kPartitionsPerRound = 30;  // partitions before the program is solved again
constexpr std::int64_t kStepsOfRound = 1'000;
constexpr std::int64_t kStepsOfLong = 20'000;  // of a round that need not list all
constexpr std::size_t kNear = 3'000;           // partitions looked at once more
constexpr std::int64_t kStepsToRaise = 20'000;
constexpr std::int64_t kRaisingPerProof = 2;  // of the steps that the proof took
constexpr FineTicks kNoise = ColumnProgram::kNoise;

}  // namespace

bool ExactDualSearch::is_possible(const FusionTables& tables) {
  if (!tables.bounds().use(SearchBound::Frontier)) return false;
  const std::vector<std::size_t>& first = tables.order().first_alike();
  std::size_t classes = 0;
  for (std::size_t p = 0; p < first.size(); ++p) classes += first[p] == p;
  return classes <= kMostClasses;
}

ExactDualSearch::ExactDualSearch(const FusionTables& tables, SharedWork* work)
    : ColumnGeneration(tables), steps_of_round_(kStepsOfRound) {
  begin(exchanged_kernels(tables), work);
  if (!pricing_->may_enumerate()) end();
}

void ExactDualSearch::begin_pricing() {
  static_cast<Duals&>(duals_) = program_->duals();
  round_ = Round::Columns;
}

void ExactDualSearch::price() {
  switch (round_) {
    case Round::Columns:
      price_columns();
      break;
    case Round::Proof:
      prove();
      break;
    case Round::Raising:
      raise();
      break;
  }
}

/// While some overpaid partitions are found soon it does not matter whether they are all.  Where it
/// takes long a round ends with enough of them, and those that are overpaid by noise are left to the
/// proof: there may be very many.
void ExactDualSearch::price_columns() {
  const std::int64_t limit = std::min(steps_, steps_of_round_);
  const bool is_long = steps_of_round_ > kStepsOfLong;
  std::int64_t left = limit;
  auto found =
      pricing_->find(duals_,
                     {.threshold = is_long ? kNoise : 0,
                      .most = kPartitionsPerRound,
                      .enough = is_long ? kPartitionsPerRound : PartitionPricing::Query::kAny,
                      .first = first_},
                     left);
  steps_ -= limit - left;
  first_ = found.complete ? 0 : found.next;
  const auto noise = std::partition_point(found.partitions.begin(), found.partitions.end(),
                                          [](const auto& p) { return p.excess > kNoise; });
  if (noise != found.partitions.begin()) {
    std::for_each(found.partitions.begin(), noise, [this](const auto& p) { program_->add(p); });
    solve_again();
  } else if (!found.complete) {
    steps_of_round_ = std::max(steps_of_round_, 4 * limit);
  } else if (!is_long && found.partitions.size() < kPartitionsPerRound) {
    settle(found.partitions, limit - left);
  } else {
    round_ = Round::Proof;
  }
}

/// Lists all that are overpaid, if only by noise.
void ExactDualSearch::prove() {
  const std::int64_t before = steps_;
  auto found = pricing_->find(duals_, {.threshold = 0, .most = kNear}, steps_);
  if (!found.complete) return;  // the next call begins again
  if (found.partitions.size() == kNear) {
    // What is not listed has no more excess than the last that is.
    for (FineTicks& charge : duals_.charge) charge += found.partitions.back().excess;
    for (PartitionColumn& partition : found.partitions) set_excess(partition);
  }
  settle(found.partitions, before - steps_);
}

/// Makes the duals right to the last unit: none of these is overpaid.  The list took so many steps.
void ExactDualSearch::settle(std::vector<PartitionColumn>& list, std::int64_t steps) {
  for (const PartitionColumn& partition : list) lower_for(partition, list);
  steps_to_raise_ = std::max(kStepsToRaise, kRaisingPerProof * steps);
  round_ = Round::Raising;
}

/// Hardly a dual could be raised any more, if those partitions that would then be overpaid
/// are soon listed.
void ExactDualSearch::raise() {
  const FineTicks most = (kNoise + 1) * static_cast<FineTicks>(tables_.size());
  const std::int64_t limit = std::min(steps_, steps_to_raise_);
  std::int64_t left = limit;
  auto found = pricing_->find(duals_, {.threshold = -most - 1, .most = kNear}, left);
  steps_ -= limit - left;
  if (!found.complete && limit < steps_to_raise_) return;  // the next call begins again
  if (found.complete && found.partitions.size() < kNear) raise_by(most, found.partitions);
  finish();
}

void ExactDualSearch::lower_for(const PartitionColumn& overpaid,
                                std::vector<PartitionColumn>& list) {
  const auto& alike = program_->alike();
  FineTicks excess = overpaid.excess;
  for (std::size_t c = 0; c < alike.size() && excess > 0; ++c) {
    const FineTicks kernels = program_->count(overpaid.kernels, c);
    if (kernels == 0) continue;
    const FineTicks less =
        std::min((excess + kernels - 1) / kernels, duals_.kernels[alike[c].front()]);
    excess -= kernels * less;
    change(c, -less, list);
  }
}

/// Duals rise by `most` in all: partitions further than that from theirs stay right.
void ExactDualSearch::raise_by(FineTicks most, std::vector<PartitionColumn>& list) {
  const auto& alike = program_->alike();
  for (std::size_t c = 0; c < alike.size(); ++c) {
    const auto kernels = std::ssize(alike[c]);
    FineTicks more = most / kernels;
    for (const PartitionColumn& partition : list) {
      const FineTicks inside = program_->count(partition.kernels, c);
      if (inside > 0) more = std::min(more, -partition.excess / inside);
    }
    if (more <= 0) continue;
    most -= more * kernels;
    change(c, more, list);
  }
}

/// The duals of a class.
void ExactDualSearch::change(std::size_t of, FineTicks by, std::vector<PartitionColumn>& list) {
  for (const std::size_t p : program_->alike()[of]) duals_.kernels[p] += by;
  for (PartitionColumn& partition : list) {
    partition.excess += by * program_->count(partition.kernels, of);
  }
}

void ExactDualSearch::set_excess(PartitionColumn& partition) const {
  partition.excess = -partition.time * kFinePerTick - duals_.charge[partition.group];
  partition.kernels.for_each([&](std::size_t p) { partition.excess += duals_.kernels[p]; });
}

void ExactDualSearch::finish() {
  set_gains(tables_, duals_);
  proved_ = std::move(duals_);
  end();
}

}  // namespace dfsearch
