// The order of partitions between which kernels move (after Pearce and Kelly 2006).
//
// The partitions are numbered so that tensors lead from lower to higher numbers.  All new tensors
// between partitions touch the partition to which kernels move, so there is a cycle if and only if
// this partition reaches itself.  Only the numbers from its first consumer to its last producer
// change: among them, the partitions that it reaches come after it, and all others before it.
//
// Tested against all orders: tests/engine/fusion/move_fusion_test.cpp.

#include <algorithm>

#include "engine/fusion/moving_parts.hpp"

namespace dfsearch {

/// Changes the order so that this partition comes after its producers and before its consumers;
/// returns false and changes nothing if no order does.
bool MovingParts::put_in_order(std::size_t part) {
  std::size_t first = parts_[part].place;
  std::size_t last = first;
  for (const std::uint32_t p : chosen_) {
    for (std::size_t i = 0; i < links(p).size(); ++i) {
      const std::size_t place = parts_[part_of_[links(p)[i].other]].place;
      if (i < outputs_[p]) {
        last = std::max(last, place);
      } else {
        first = std::min(first, place);
      }
    }
  }
  if (first == last) return true;
  if (reaches_itself(part, last)) return false;
  later_.clear();
  std::size_t end = first;
  for (std::size_t place = first; place <= last; ++place) {
    const std::size_t other = order_[place];
    if (other == part) continue;
    if (reached_at_[other] == reach_) {
      later_.push_back(other);
    } else {
      order_[end++] = other;
    }
  }
  order_[end++] = part;
  std::copy(later_.begin(), later_.end(), order_.begin() + static_cast<std::ptrdiff_t>(end));
  renumber(first, last + 1);
  return true;
}

/// Whether a path over parts up to the place `last` leads from the part back to itself; marks the
/// parts that it meets.
bool MovingParts::reaches_itself(std::size_t part, std::size_t last) {
  ++reach_;
  stack_.assign(1, part);
  while (!stack_.empty()) {
    const std::size_t next = stack_.back();
    stack_.pop_back();
    for (const std::uint32_t p : parts_[next].kernels) {
      const std::span<const Arc> all = outputs(p);
      steps_ += 1 + static_cast<std::int64_t>(all.size());
      for (const Arc& link : all) {
        const std::size_t other = part_of_[link.other];
        if (other == next) continue;
        if (other == part) return true;
        if (parts_[other].place > last || reached_at_[other] == reach_) continue;
        reached_at_[other] = reach_;
        stack_.push_back(other);
      }
    }
  }
  return false;
}

/// Whether memory has room for the waiting tensors while each partition runs.
bool MovingParts::fits_in_memory() const {
  std::vector<Bytes> begins(order_.size() + 1);
  for (std::size_t p = 0; p < part_of_.size(); ++p) {
    const std::size_t from = parts_[part_of_[p]].place;
    for (const Arc& link : outputs(p)) {
      const std::size_t to = parts_[part_of_[link.other]].place;
      if (from == to) continue;
      begins[from] += link.stored;
      begins[to + 1] -= link.stored;
    }
  }
  Bytes alive{};
  return std::all_of(begins.begin(), begins.end(), [&](Bytes change) {
    alive += change;
    return alive <= tables_.capacity_for_activations();
  });
}

}  // namespace dfsearch
