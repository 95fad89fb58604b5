#include "engine/fusion/transpositions.hpp"

#include <algorithm>

namespace dfsearch {

Transpositions::Entry Transpositions::entry_of(const FusionNode& node) {
  return {
      .spent = node.spent, .next_index = node.next_index, .used = node.used, .closed = node.closed};
}

bool Transpositions::dominates(const Entry& a, const Entry& b) const {
  if (a.spent > b.spent || a.next_index > b.next_index) return false;
  if (a.spent < b.spent) return true;
  if (a.used != b.used) return a.used < b.used;
  // Both assign the same kernels; whatever follows is the same for both.
  return search_.assignment(a.closed.get()) <= search_.assignment(b.closed.get());
}

bool Transpositions::admit(const FusionNode& node) {
  if (!learns_) return true;
  Shard& shard = const_cast<Shard&>(shard_of(node.done));
  const Entry entry = entry_of(node);
  const std::lock_guard lock(shard.mutex);
  auto found = shard.fronts.find(node.done);
  if (found == shard.fronts.end()) {
    if (shard.fronts.size() < kShardLimit) shard.fronts[node.done].push_back(entry);
    return true;
  }
  Front& front = found->second;
  for (const Entry& other : front) {
    if (other.closed == entry.closed) return true;
    if (dominates(other, entry)) return false;
  }
  std::erase_if(front, [&](const Entry& other) { return dominates(entry, other); });
  front.push_back(entry);
  return true;
}

bool Transpositions::superseded(const FusionNode& node) const {
  const Shard& shard = shard_of(node.done);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.fronts.find(node.done);
  if (found == shard.fronts.end()) return false;
  const Entry entry = entry_of(node);
  return std::none_of(found->second.begin(), found->second.end(),
                      [&](const Entry& other) { return other.closed == entry.closed; }) &&
         std::any_of(found->second.begin(), found->second.end(),
                     [&](const Entry& other) { return dominates(other, entry); });
}

std::int64_t Transpositions::ideals() const {
  std::size_t count = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    count += shard.fronts.size();
  }
  return static_cast<std::int64_t>(count);
}

}  // namespace dfsearch
