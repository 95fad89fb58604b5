// A kernel that is kept out takes all its descendants with it, often most of a large graph.  Their
// share of the bounds is the sum of their shares, or the sum for all undecided kernels minus the
// sum for the others, whichever has fewer summands.  Tested against plain sums:
// tests/engine/fusion/open_partition_test.cpp.

#include "engine/fusion/open_partition.hpp"

#include <algorithm>

#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

// Shares of at most this number of kernels are added up directly.
constexpr std::size_t kFew = 64;

}  // namespace

OpenPartition::Shares& OpenPartition::Shares::operator+=(const Shares& other) {
  for (std::size_t r = 0; r < bound.size(); ++r) bound[r] += other.bound[r];
  for (std::size_t r = 0; r < dual.size(); ++r) dual[r] += other.dual[r];
  return *this;
}

OpenPartition::Shares& OpenPartition::Shares::operator-=(const Shares& other) {
  for (std::size_t r = 0; r < bound.size(); ++r) bound[r] -= other.bound[r];
  for (std::size_t r = 0; r < dual.size(); ++r) dual[r] -= other.dual[r];
  return *this;
}

OpenPartition::OpenPartition(const FusionTables& tables, const KernelSet& done,
                             const PartitionDuals* duals)
    : tables_(tables),
      duals_(duals),
      undecided_(tables.size()),
      inside_(tables.size()),
      outside_kernels_(tables.size()),
      missing_(tables.size(), 0),
      ready_(tables.size()),
      others_(tables.size()) {
  for (std::size_t p = 0; p < tables_.size(); ++p) {
    if (done.contains(p)) {
      for (const Arc& arc : tables_.outputs(p)) {
        if (!done.contains(arc.other)) waiting_ += arc.stored;
      }
      continue;
    }
    undecided_.insert(p);
    for (const Arc& arc : tables_.inputs(p)) missing_[p] += !done.contains(arc.other);
    if (missing_[p] == 0) ready_.insert(p);
    for (std::size_t r = 0; duals_ != nullptr && r < totals_.dual.size(); ++r) {
      totals_.dual[r] += duals_->kernels[p] - duals_->gains[p][r];
    }
  }
}

std::size_t OpenPartition::first_ready(std::size_t from) const {
  std::size_t p = ready_.first_from(from);
  while (p < ready_.end() && !undecided_.contains(p)) p = ready_.first_from(p + 1);
  return p;
}

/// Whether cores are left for the kernel, and it repeats if and only if the kernels inside do.
bool OpenPartition::may_join(std::size_t p) const {
  if (static_cast<std::int64_t>(kernels_.size()) >= tables_.cores()) return false;
  return kernels_.empty() || tables_.kernel(kernels_.front()).repeats == tables_.kernel(p).repeats;
}

bool OpenPartition::fits(std::size_t p) const {
  return may_join(p) && totals_.sram + sram_change(p) <= tables_.sram();
}

Bytes OpenPartition::sram_change(std::size_t p) const {
  Bytes change = tables_.kernel(p).weight;
  for (const Arc& arc : tables_.inputs(p)) {
    change += is_inside(arc.other) ? arc.fused - arc.streamed : arc.streamed;
  }
  for (const Arc& arc : tables_.outputs(p)) change += arc.streamed;
  return change;
}

bool OpenPartition::put_in_if_fits(std::size_t p) {
  if (!may_join(p)) return false;
  const Bytes change = sram_change(p);
  if (totals_.sram + change > tables_.sram()) return false;
  put_in(p, change);
  return true;
}

void OpenPartition::put_in(std::size_t p) { put_in(p, sram_change(p)); }

void OpenPartition::put_in(std::size_t p, Bytes sram_change) {
  const KernelCosts& kernel = tables_.kernel(p);
  totals_.sram += sram_change;
  totals_.add(kernel);
  totals_.sure_memory += kernel.explicit_memory;
  totals_.pinned += kernel.pin >= 0;
  totals_.backward += kernel.backward;
  for (std::size_t r = 0; duals_ != nullptr && r < totals_.dual.size(); ++r) {
    totals_.dual[r] -= duals_->kernels[p] - duals_->gains[p][r];
  }
  for (const Arc& arc : tables_.inputs(p)) {
    if (is_inside(arc.other)) {
      totals_.memory -= arc.opposite;
      totals_.leaving -= arc.stored;
    } else {
      totals_.memory += arc.transfer;
      totals_.sure_memory += arc.transfer;
    }
  }
  for (const Arc& arc : tables_.outputs(p)) {
    totals_.memory += arc.transfer;
    totals_.leaving += arc.stored;
    if (is_outside(arc.other)) totals_.sure_memory += arc.transfer;
    if (--missing_[arc.other] == 0) ready_.insert(arc.other);
  }
  if (undecided_shares_) {
    Shares own;
    add_share(p, own);
    *undecided_shares_ -= own;
  }
  undecided_.erase(p);
  inside_.insert(p);
  kernels_.push_back(static_cast<std::uint32_t>(p));
}

void OpenPartition::take_out(std::size_t p, const Totals& before) {
  remove_last(p);
  totals_ = before;
}

void OpenPartition::take_out_all() {
  while (!kernels_.empty()) remove_last(kernels_.back());
  totals_ = {};
}

void OpenPartition::remove_last(std::size_t p) {
  kernels_.pop_back();
  inside_.erase(p);
  undecided_.insert(p);
  if (undecided_shares_) add_share(p, *undecided_shares_);
  for (const Arc& arc : tables_.outputs(p)) {
    if (missing_[arc.other]++ == 0) ready_.erase(arc.other);
  }
}

void OpenPartition::put_before(std::size_t p) {
  for (const Arc& arc : tables_.inputs(p)) waiting_ -= arc.stored;
  for (const Arc& arc : tables_.outputs(p)) {
    waiting_ += arc.stored;
    if (--missing_[arc.other] == 0) ready_.insert(arc.other);
  }
  ready_.erase(p);
  undecided_.erase(p);
  undecided_shares_.reset();
}

void OpenPartition::close() {
  const std::vector<std::uint32_t> kernels = kernels_;
  take_out_all();
  for (const std::uint32_t p : kernels) put_before(p);
}

void OpenPartition::keep_out(std::size_t p) {
  if (kept_out_ == trail_.size()) trail_.emplace_back();
  KeptOut& decision = trail_[kept_out_++];
  decision.kernels = tables_.descendants(p);
  decision.kernels &= undecided_;
  const bool are_few = tables_.size() <= kFew || decision.kernels.size() <= kFew;
  decision.shares = are_few ? shares(decision.kernels) : shares_of_many(decision.kernels);
  decision.sure_memory = 0;
  if (are_few) {
    decision.kernels.for_each([&](std::size_t d) {
      for (const Arc& arc : tables_.inputs(d)) {
        if (is_inside(arc.other)) decision.sure_memory += arc.opposite;
      }
    });
  } else {
    for (const std::uint32_t inside : kernels_) {
      for (const Arc& arc : tables_.outputs(inside)) {
        if (decision.kernels.contains(arc.other)) decision.sure_memory += arc.transfer;
      }
    }
  }
  undecided_ -= decision.kernels;
  outside_kernels_ |= decision.kernels;
  if (undecided_shares_) *undecided_shares_ -= decision.shares;
  for (std::size_t r = 0; r < outside_.bound.size(); ++r) {
    outside_.bound[r] += decision.shares.bound[r];
  }
  for (std::size_t r = 0; r < totals_.dual.size(); ++r) totals_.dual[r] += decision.shares.dual[r];
  totals_.sure_memory += decision.sure_memory;
}

void OpenPartition::undo_to(std::size_t mark) {
  while (kept_out_ > mark) {
    const KeptOut& decision = trail_[--kept_out_];
    undecided_ |= decision.kernels;
    outside_kernels_ -= decision.kernels;
    if (undecided_shares_) *undecided_shares_ += decision.shares;
    for (std::size_t r = 0; r < outside_.bound.size(); ++r) {
      outside_.bound[r] -= decision.shares.bound[r];
    }
    for (std::size_t r = 0; r < totals_.dual.size(); ++r) {
      totals_.dual[r] -= decision.shares.dual[r];
    }
    totals_.sure_memory -= decision.sure_memory;
  }
}

// Leaves the memory row out.  That row assumes that producers which are not in the sum are done,
// but here they may be undecided, so it would be no bound for a part of the rest.
void OpenPartition::add_share(std::size_t p, Shares& sum) const {
  const std::array<Ticks, kBoundRows>& bound = tables_.kernel(p).share.bound;
  for (std::size_t r = 0; r < bound.size(); ++r) {
    if (r != kMemoryRow) sum.bound[r] += bound[r];
  }
  if (duals_ == nullptr) return;
  for (std::size_t r = 0; r < sum.dual.size(); ++r) sum.dual[r] += duals_->gains[p][r];
}

OpenPartition::Shares OpenPartition::shares(const KernelSet& kernels) const {
  Shares sum;
  kernels.for_each([&](std::size_t p) { add_share(p, sum); });
  return sum;
}

OpenPartition::Shares OpenPartition::shares_of_many(const KernelSet& some) {
  others_ = undecided_;
  others_ -= some;
  if (others_.size() >= some.size()) return shares(some);
  if (!undecided_shares_) undecided_shares_ = shares(undecided_);
  Shares sum = *undecided_shares_;
  return sum -= shares(others_);
}

FineTicks OpenPartition::dual_time() const {
  const KernelParts inside = parts(tables_.problem().execution.overlap, totals_.compute,
                                   totals_.network, totals_.sure_memory);
  FineTicks most = 0;
  for (std::size_t r = 0; r < inside.size(); ++r) {
    most = std::max(most, inside[r] * kFinePerTick + totals_.dual[r]);
  }
  return most;
}

Ticks OpenPartition::time(Ticks limit) {
  if (static_cast<std::int64_t>(kernels_.size()) > tables_.cores()) return kNever;
  options_.clear();
  if (!tables_.problem().execution.compute_utilization) {
    // The least time is only a bound, but it saves most allocations of cores.
    if (least_partition_time(tables_, totals_) > limit) return kNever;
    for (const std::uint32_t p : kernels_) options_.push_back(tables_.kernel(p).options);
  }
  return partition_time(tables_, totals_, options_);
}

}  // namespace dfsearch
