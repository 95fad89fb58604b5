#include "engine/fusion/transpositions.hpp"

#include <algorithm>

namespace dfsearch {

Transpositions::Reached Transpositions::reached_by(const FusionNode& node) {
  return {
      .spent = node.spent, .next_index = node.next_index, .used = node.used, .closed = node.closed};
}

bool Transpositions::dominates(const Reached& a, const Reached& b) const {
  if (a.spent > b.spent || a.next_index > b.next_index) return false;
  if (a.spent < b.spent) return true;
  if (a.used != b.used) return a.used < b.used;
  // Both assign the same kernels; whatever follows is the same for both.
  return search_.is_no_later(a.closed.get(), b.closed.get());
}

KernelSet Transpositions::key_of(const FusionNode& node) const {
  const KernelOrder& order = search_.order();
  return order.by_orbits() ? order.representative(node.done) : node.done;
}

/// Of a front with its key; most have one member.
std::size_t Transpositions::bytes_of(const KernelSet& done) {
  return sizeof(KernelSet) + done.heap_bytes() + sizeof(Front) + sizeof(Reached) + 4 * kAllocation;
}

Transpositions::~Transpositions() {
  if (allowance_.memory == nullptr) return;
  for (const Stripe& stripe : stripes_) {
    if (stripe.fronts.empty()) continue;
    allowance_.memory->remove(stripe.fronts.size() * bytes_of(stripe.fronts.begin()->first));
  }
}

bool Transpositions::admit(const FusionNode& node) {
  if (!learns_) return true;
  const KernelSet key = key_of(node);
  Stripe& stripe = const_cast<Stripe&>(stripe_of(key));
  const Reached reached = reached_by(node);
  const std::lock_guard lock(stripe.mutex);
  auto found = stripe.fronts.find(key);
  if (found == stripe.fronts.end()) {
    const std::size_t bytes = bytes_of(key);
    if (stripe.fronts.size() < kStripeLimit && !allowance_.is_tight(bytes)) {
      stripe.fronts[key].push_back(reached);
      if (allowance_.memory != nullptr) allowance_.memory->add(bytes);
    }
    return true;
  }
  Front& front = found->second;
  for (const Reached& other : front) {
    if (other.closed == reached.closed) return true;
    if (dominates(other, reached)) return false;
  }
  std::erase_if(front, [&](const Reached& other) { return dominates(reached, other); });
  front.push_back(reached);
  return true;
}

bool Transpositions::superseded(const FusionNode& node) const {
  const KernelSet key = key_of(node);
  const Stripe& stripe = stripe_of(key);
  const std::lock_guard lock(stripe.mutex);
  const auto found = stripe.fronts.find(key);
  if (found == stripe.fronts.end()) return false;
  const Reached reached = reached_by(node);
  return std::none_of(found->second.begin(), found->second.end(),
                      [&](const Reached& other) { return other.closed == reached.closed; }) &&
         std::any_of(found->second.begin(), found->second.end(),
                     [&](const Reached& other) { return dominates(other, reached); });
}

std::int64_t Transpositions::ideals() const {
  std::size_t count = 0;
  for (const Stripe& stripe : stripes_) {
    const std::lock_guard lock(stripe.mutex);
    count += stripe.fronts.size();
  }
  return static_cast<std::int64_t>(count);
}

}  // namespace dfsearch
