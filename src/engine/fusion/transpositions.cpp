#include "engine/fusion/transpositions.hpp"

namespace dfsearch {

Transpositions::Reached Transpositions::reached_by(const FusionNode& node) {
  return {.spent = node.spent, .next_index = node.next_index, .closed = node.closed};
}

/// Returns the ideal of the node or, if there are exchanges, the representative of its images,
/// which is stored in `representative`.
Transpositions::Ideal Transpositions::ideal_of(const FusionNode& node,
                                               KernelSet& representative) const {
  const KernelOrder& order = search_.order();
  const bool has_images = !order.exchanges().empty();
  if (has_images) representative = order.representative(node.done);
  const KernelSet& done = has_images ? representative : node.done;
  return {.done = done.words(), .hash = done.hash()};
}

/// Bytes of a front with its ideal; most fronts have one member.
std::size_t Transpositions::bytes_of(const Ideal& ideal) {
  constexpr std::size_t kOfTable = 6 * sizeof(void*);
  return sizeof(Ideal) + ideal.done.size_bytes() + sizeof(Front) + sizeof(Reached) + kOfTable;
}

Transpositions::Ideal Transpositions::kept_in(Stripe& stripe, const Ideal& ideal) {
  std::pmr::polymorphic_allocator<std::uint64_t> room(&stripe.arena);
  std::uint64_t* const words = room.allocate(ideal.done.size());
  std::copy(ideal.done.begin(), ideal.done.end(), words);
  return {.done = {words, ideal.done.size()}, .hash = ideal.hash};
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
  KernelSet representative;
  const Ideal ideal = ideal_of(node, representative);
  Stripe& stripe = stripes_[stripe_of(ideal)];
  const Reached reached = reached_by(node);
  const std::lock_guard lock(stripe.mutex);
  const auto found = stripe.fronts.find(ideal);
  if (found == stripe.fronts.end()) {
    const std::size_t bytes = bytes_of(ideal);
    if (stripe.fronts.size() < kStripeLimit && !allowance_.is_tight(bytes)) {
      if (stripe.fronts.size() == kFewFronts) stripe.fronts.reserve(kStripeLimit);
      stripe.fronts[kept_in(stripe, ideal)].push_back(reached);
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
  KernelSet representative;
  const Ideal ideal = ideal_of(node, representative);
  const Stripe& stripe = stripes_[stripe_of(ideal)];
  const std::lock_guard lock(stripe.mutex);
  const auto found = stripe.fronts.find(ideal);
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
