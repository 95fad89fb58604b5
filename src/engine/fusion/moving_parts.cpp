// Costs and order of a fusion under moves.
//
// Only the kernels that move and their tensors change the sums of a partition: a tensor costs no
// memory time while both ends are in one partition; otherwise each of the two partitions transfers
// it.  So the effort of costing a move is proportional to the tensors of the moved kernels, however
// many kernels the partitions hold.  The order of the partitions is in moving_parts_order.cpp.
//
// Tested against OpenPartition and evaluate: tests/engine/fusion/move_fusion_test.cpp.

#include "engine/fusion/moving_parts.hpp"

#include <algorithm>
#include <utility>

namespace dfsearch {
namespace {

// An allocation of cores is a bisection that visits each kernel in every step.
constexpr std::int64_t kStepsPerAllocated = 16;

}  // namespace

bool MovingParts::is_possible(const FusionTables& tables) {
  if (tables.phases_mix()) return false;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    if (tables.kernel(p).pin >= 0) return false;
  }
  return true;
}

MovingParts::MovingParts(const FusionTables& tables, const Fusion& start)
    : tables_(tables),
      rules_(tables),
      allocates_(!tables.problem().execution.compute_utilization),
      part_of_(tables.size()),
      slot_of_(tables.size()),
      chosen_at_(tables.size(), 0) {
  index_links();
  restore(start);
}

void MovingParts::index_links() {
  Bytes stored{};
  begin_.push_back(0);
  for (std::size_t p = 0; p < tables_.size(); ++p) {
    const std::span<const Arc> inputs = tables_.inputs(p);
    const std::span<const Arc> outputs = tables_.outputs(p);
    links_.insert(links_.end(), inputs.begin(), inputs.end());
    links_.insert(links_.end(), outputs.begin(), outputs.end());
    outputs_.push_back(static_cast<std::uint32_t>(inputs.size()));
    begin_.push_back(static_cast<std::uint32_t>(links_.size()));
    for (const Arc& arc : outputs) stored += arc.stored;
  }
  limited_ = !(stored <= tables_.capacity_for_activations());
}

std::vector<std::uint32_t> MovingParts::places() const {
  std::vector<std::uint32_t> places(part_of_.size());
  for (std::size_t p = 0; p < places.size(); ++p) {
    places[p] = static_cast<std::uint32_t>(parts_[part_of_[p]].place);
  }
  return places;
}

void MovingParts::restore(const Fusion& fusion) {
  std::vector<std::vector<std::uint32_t>> lists;
  for (std::size_t p = 0; p < tables_.size(); ++p) {
    const auto index = static_cast<std::size_t>(fusion.partition[tables_.id(p).index()]);
    if (index >= lists.size()) lists.resize(index + 1);
    lists[index].push_back(static_cast<std::uint32_t>(p));
  }
  parts_.clear();
  free_.clear();
  order_.clear();
  reached_at_.clear();
  of_phase_ = {};
  time_ = tables_.weight_loads();
  for (std::vector<std::uint32_t>& list : lists) {
    if (list.empty()) continue;
    const std::size_t part = insert_part(order_.size(), tables_.kernel(list.front()).backward);
    for (std::size_t i = 0; i < list.size(); ++i) {
      part_of_[list[i]] = part;
      slot_of_[list[i]] = static_cast<std::uint32_t>(i);
    }
    parts_[part].kernels = std::move(list);
  }
  for (Part& part : parts_) {
    fill(part);
    time_ += part.time;
  }
}

void MovingParts::fill(Part& part) {
  Sums sums;
  const std::size_t own = part_of_[part.kernels.front()];
  for (const std::uint32_t p : part.kernels) {
    const KernelCosts& kernel = tables_.kernel(p);
    sums.add(kernel);
    sums.sram += kernel.weight;
    for (std::size_t i = 0; i < links(p).size(); ++i) {
      const Arc& link = links(p)[i];
      if (part_of_[link.other] != own) {
        sums.memory += link.transfer;
        sums.sram += link.streamed;
      } else if (i < outputs_[p]) {
        sums.sram += link.fused;
      }
    }
  }
  part.sums = sums;
  options_.clear();
  if (allocates_) {
    for (const std::uint32_t p : part.kernels) options_.push_back(tables_.kernel(p).options);
  }
  part.time = partition_time(tables_, sums, options_);
}

std::int64_t MovingParts::take_steps() { return std::exchange(steps_, 0); }

void MovingParts::add_choice(std::size_t kernel) {
  if (is_chosen(kernel)) return;
  chosen_at_[kernel] = choice_;
  chosen_.push_back(static_cast<std::uint32_t>(kernel));
}

void MovingParts::choose(std::size_t kernel) {
  from_ = part_of_[kernel];
  ++choice_;
  chosen_.clear();
  add_choice(kernel);
}

void MovingParts::choose_with_followers(std::size_t kernel) {
  choose(kernel);
  for (std::size_t i = 0; i < chosen_.size(); ++i) {
    for (const Arc& link : outputs(chosen_[i])) {
      if (part_of_[link.other] == from_) add_choice(link.other);
    }
  }
}

void MovingParts::choose_with_leaders(std::size_t kernel) {
  choose(kernel);
  for (std::size_t i = 0; i < chosen_.size(); ++i) {
    for (const Arc& link : links(chosen_[i]).first(outputs_[chosen_[i]])) {
      if (part_of_[link.other] == from_) add_choice(link.other);
    }
  }
}

bool MovingParts::has_index_for_one_more() const {
  const std::size_t group = rules_.group(parts_[from_].backward);
  const std::size_t used = rules_.groups() == 2 ? of_phase_[group] : order_.size();
  return static_cast<std::int64_t>(used) < rules_.left(group, 0);
}

/// Whether phases, repeats, cores and indices allow the move.
bool MovingParts::goes_to(std::size_t to) const {
  if (to == kNewPart) {
    return chosen_.size() < parts_[from_].kernels.size() && has_index_for_one_more();
  }
  const Part& part = parts_[to];
  return part.backward == parts_[from_].backward &&
         tables_.kernel(part.kernels.front()).repeats == tables_.kernel(chosen_.front()).repeats &&
         static_cast<std::int64_t>(part.kernels.size() + chosen_.size()) <= tables_.cores();
}

/// Computes the sums of the partition that the chosen kernels leave, and of the one that they join.
void MovingParts::add_sums(std::size_t to) {
  left_ = parts_[from_].sums;
  joined_ = to == kNewPart ? Sums{} : parts_[to].sums;
  for (const std::uint32_t p : chosen_) {
    const KernelCosts& kernel = tables_.kernel(p);
    Ticks memory = kernel.explicit_memory;
    Bytes sram = kernel.weight;
    const std::span<const Arc> all = links(p);
    steps_ += static_cast<std::int64_t>(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Arc& link = all[i];
      const std::size_t part = part_of_[link.other];
      if (part == from_ && is_chosen(link.other)) {
        if (i < outputs_[p]) sram += link.fused;
        continue;
      }
      memory += link.transfer;
      sram += link.streamed;
      if (part == from_) {
        left_.memory += link.transfer + link.opposite;
        left_.sram += 2.0 * link.streamed - link.fused;
      } else if (part == to) {
        joined_.memory -= link.transfer + link.opposite;
        joined_.sram += link.fused - 2.0 * link.streamed;
      }
    }
    left_.compute -= kernel.compute;
    left_.network -= kernel.network;
    left_.memory -= memory;
    left_.sram -= sram;
    joined_.compute += kernel.compute;
    joined_.network += kernel.network;
    joined_.memory += memory;
    joined_.sram += sram;
    for (std::size_t x = 0; tables_.has_levels() && x < left_.on_chip.size(); ++x) {
      left_.on_chip[x] -= kernel.on_chip[x];
      joined_.on_chip[x] += kernel.on_chip[x];
    }
  }
}

Ticks MovingParts::time_with(std::size_t part, const Sums& sums) {
  options_.clear();
  if (part != kNewPart) {
    for (const std::uint32_t p : parts_[part].kernels) {
      options_.push_back(tables_.kernel(p).options);
    }
  }
  for (const std::uint32_t p : chosen_) options_.push_back(tables_.kernel(p).options);
  steps_ += kStepsPerAllocated * static_cast<std::int64_t>(options_.size());
  return partition_time(tables_, sums, options_);
}

Ticks MovingParts::time_without(std::size_t part, const Sums& sums) {
  options_.clear();
  for (const std::uint32_t p : parts_[part].kernels) {
    if (!is_chosen(p)) options_.push_back(tables_.kernel(p).options);
  }
  steps_ += kStepsPerAllocated * static_cast<std::int64_t>(options_.size());
  return options_.empty() ? 0 : partition_time(tables_, sums, options_);
}

Ticks MovingParts::change(std::size_t to, Ticks limit) {
  ++steps_;
  to_ = to;
  if (!goes_to(to)) return kNever;
  add_sums(to);
  const bool fresh = to == kNewPart;
  const bool escapes = fresh && chosen_.size() == 1 && tables_.kernel(chosen_.front()).escapes;
  if (joined_.sram > tables_.sram() && !escapes) return kNever;
  const Part& from = parts_[from_];
  const Ticks now = from.time + (fresh ? 0 : parts_[to].time);
  const bool all = chosen_.size() == from.kernels.size();
  change_ = (all ? 0 : least_partition_time(tables_, left_)) +
            least_partition_time(tables_, joined_) - now;
  if (change_ > limit) return kNever;
  if (allocates_) {
    change_ = capped_sum(time_without(from_, left_), time_with(to, joined_)) - now;
  }
  return change_ > limit ? kNever : change_;
}

std::size_t MovingParts::insert_part(std::size_t place, bool backward) {
  std::size_t part = parts_.size();
  if (free_.empty()) {
    parts_.emplace_back();
    reached_at_.push_back(0);
  } else {
    part = free_.back();
    free_.pop_back();
  }
  parts_[part].backward = backward;
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(place), part);
  renumber(place, order_.size());
  ++of_phase_[backward ? 1 : 0];
  return part;
}

void MovingParts::remove_part(std::size_t part) {
  const std::size_t place = parts_[part].place;
  order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(place));
  renumber(place, order_.size());
  --of_phase_[parts_[part].backward ? 1 : 0];
  free_.push_back(part);
}

void MovingParts::renumber(std::size_t from, std::size_t to) {
  for (std::size_t place = from; place < to; ++place) parts_[order_[place]].place = place;
}

void MovingParts::transfer(std::size_t from, std::size_t to) {
  for (const std::uint32_t p : chosen_) {
    std::vector<std::uint32_t>& list = parts_[from].kernels;
    const std::uint32_t last = list.back();
    list[slot_of_[p]] = last;
    slot_of_[last] = slot_of_[p];
    list.pop_back();
    slot_of_[p] = static_cast<std::uint32_t>(parts_[to].kernels.size());
    parts_[to].kernels.push_back(p);
    part_of_[p] = to;
  }
}

bool MovingParts::move(Side side) {
  const bool fresh = to_ == kNewPart;
  std::size_t to = to_;
  if (fresh) {
    const std::size_t place = parts_[from_].place + (side == Side::After ? 1 : 0);
    to = insert_part(place, parts_[from_].backward);
  }
  const std::vector<std::size_t> order_before = limited_ ? order_ : std::vector<std::size_t>{};
  transfer(from_, to);
  const bool in_order = put_in_order(to);
  if (!in_order || (limited_ && !fits_in_memory())) {
    if (in_order) {
      order_ = order_before;
      renumber(0, order_.size());
    }
    transfer(to, from_);
    if (fresh) remove_part(to);
    return false;
  }
  if (parts_[from_].kernels.empty()) {
    remove_part(from_);
  } else {
    fill(parts_[from_]);
  }
  fill(parts_[to]);
  steps_ += static_cast<std::int64_t>(order_.size() + parts_[to].kernels.size());
  time_ += change_;
  return true;
}

}  // namespace dfsearch
