#include "model/mapping.hpp"

#include <set>

namespace dfsearch {

std::int64_t partitions_used(const std::vector<std::int64_t>& partition) {
  return static_cast<std::int64_t>(std::set(partition.begin(), partition.end()).size());
}

}  // namespace dfsearch
