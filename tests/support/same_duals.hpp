#pragma once
// Whether two searches found the same duals.

#include "engine/duals/partition_duals.hpp"

namespace dfsearch::test {

inline bool same(const PartitionDuals& a, const PartitionDuals& b) {
  return a.kernels == b.kernels && a.charge == b.charge && a.gains == b.gains;
}

}  // namespace dfsearch::test
