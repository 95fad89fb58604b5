#pragma once
// Small worlds have too few nodes for their duals to be worth the effort; for tests they are
// found all the same.

#include <cstdint>

#include "engine/tree/limits.hpp"

namespace dfsearch::test {

/// Duals from the first node on, after some nodes, or when they usually are, in turn; seeds that
/// differ by less than 12 mostly agree, so that every kind of world meets each.
inline NodeEffort node_effort(std::uint64_t seed) {
  NodeEffort effort;
  switch (seed / 12 % 3) {
    case 0:
      effort.nodes_before_duals = 0;
      break;
    case 1:
      effort.nodes_before_duals = 2;
      break;
    default:
      break;
  }
  return effort;
}

}  // namespace dfsearch::test
