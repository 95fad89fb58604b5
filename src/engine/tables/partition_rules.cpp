#include "engine/tables/partition_rules.hpp"

#include <algorithm>

#include "model/mapping_rules.hpp"

namespace dfsearch {

PartitionRules::PartitionRules(const FusionTables& tables)
    : tables_(tables),
      most_(static_cast<std::int32_t>(tables.partition_limit())),
      halves_(tables.has_halves()),
      last_forward_(most_ - 1),
      backward_(tables.size()) {
  for (std::size_t p = 0; p < tables.size(); ++p) {
    if (tables.kernel(p).backward) backward_.insert(p);
    ++(tables.kernel(p).backward ? backward_kernels_ : forward_kernels_);
    if (tables.kernel(p).pin >= 0) pinned_.push_back(static_cast<std::uint32_t>(p));
  }
  if (!halves_) return;
  const PhaseRanges ranges = phase_ranges(tables.problem(), most_);
  last_forward_ = static_cast<std::int32_t>(ranges.last_forward);
  first_backward_ = static_cast<std::int32_t>(ranges.first_backward);
}

Unplaced PartitionRules::unplaced(const KernelSet& done) const {
  const auto backward_done = static_cast<std::int64_t>(done.size_of_common(backward_));
  const auto all_done = static_cast<std::int64_t>(done.size());
  return with_pins({.forward = forward_kernels_ - (all_done - backward_done),
                    .backward = backward_kernels_ - backward_done},
                   done);
}

Unplaced PartitionRules::unplaced_after(const Unplaced& before, std::int64_t forward,
                                        std::int64_t backward, const KernelSet& done) const {
  return with_pins({.forward = before.forward - forward, .backward = before.backward - backward},
                   done);
}

Unplaced PartitionRules::with_pins(Unplaced left, const KernelSet& done) const {
  for (const std::uint32_t p : pinned_) {
    if (done.contains(p)) continue;
    const std::int32_t pin = tables_.kernel(p).pin;
    if (left.least_pin < 0 || pin < left.least_pin) {
      left.least_pin = pin;
      left.kernels_at_pin = 0;
    }
    left.kernels_at_pin += pin == left.least_pin;
  }
  return left;
}

std::vector<PartitionSlot> PartitionRules::slots(std::int32_t next_index,
                                                 const Unplaced& unplaced) const {
  std::vector<std::int32_t> candidates{next_index};
  if (first_backward_ > next_index) candidates.push_back(first_backward_);
  if (unplaced.least_pin > next_index) candidates.push_back(unplaced.least_pin);
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());

  std::vector<PartitionSlot> slots;
  for (const std::int32_t index : candidates) {
    if (index >= most_) continue;
    if (unplaced.least_pin >= 0 && index > unplaced.least_pin) continue;
    PartitionSlot slot{.index = index};
    if (index == unplaced.least_pin) slot.pinned = unplaced.kernels_at_pin;
    slot.forward = index <= last_forward_;
    slot.backward = index >= first_backward_;
    // Separate phases: backward kernels begin when no forward kernel is left.
    if (!halves_ && unplaced.forward > 0) slot.backward = false;
    // An index beyond the next one is useful only for a partition that no earlier index allows.
    slot.needs_backward = index > next_index && slot.pinned == 0;
    slots.push_back(slot);
  }
  return slots;
}

std::optional<std::int32_t> PartitionRules::index_for(const KernelSet& kernels,
                                                      std::int32_t next_index,
                                                      const Unplaced& unplaced) const {
  for (const PartitionSlot& slot : slots(next_index, unplaced)) {
    std::int64_t forward = 0;
    std::int64_t backward = 0;
    std::int64_t pinned = 0;
    bool allowed = true;
    kernels.for_each([&](std::size_t p) {
      const KernelCosts& kernel = tables_.kernel(p);
      ++(kernel.backward ? backward : forward);
      pinned += kernel.pin >= 0;
      allowed = allowed && (kernel.backward ? slot.backward : slot.forward) &&
                (kernel.pin < 0 || kernel.pin == slot.index);
    });
    allowed = allowed && pinned == slot.pinned && (backward > 0 || !slot.needs_backward) &&
              (backward == 0 || forward == unplaced.forward);
    if (allowed) return slot.index;
  }
  return std::nullopt;
}

std::int32_t PartitionRules::left(std::size_t group, std::int32_t next_index) const {
  if (groups() == 1) return std::max(0, most_ - next_index);
  if (group == 0) return std::max(0, last_forward_ + 1 - next_index);
  return std::max(0, most_ - std::max(next_index, first_backward_));
}

bool PartitionRules::open(std::int32_t next_index, const Unplaced& unplaced) const {
  if (unplaced.forward > 0 && next_index > last_forward_) return false;
  if (unplaced.least_pin >= 0 && next_index > unplaced.least_pin) return false;
  return true;
}

}  // namespace dfsearch
