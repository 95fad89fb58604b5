#include "model/mapping.hpp"

#include <algorithm>
#include <set>

namespace dfsearch {

std::int64_t partitions_used(const std::vector<std::int64_t>& partition) {
  return static_cast<std::int64_t>(std::set(partition.begin(), partition.end()).size());
}

bool precedes(const Mapping& a, const Mapping& b) {
  if (a.network != b.network) return a.network < b.network;
  if (a.tile != b.tile) return a.tile > b.tile;
  if (a.micro_batch != b.micro_batch) return a.micro_batch < b.micro_batch;
  const std::int64_t used_a = partitions_used(a.partition);
  const std::int64_t used_b = partitions_used(b.partition);
  if (used_a != used_b) return used_a < used_b;
  if (a.sharding != b.sharding) return a.sharding < b.sharding;
  return a.partition < b.partition;
}

}  // namespace dfsearch
