#pragma once
// Small worlds have too few nodes for techniques beside the tree; tests run these all the same.

#include <cstdint>

#include "engine/tree/tree_search.hpp"

namespace dfsearch::test {

/// Techniques from the first node on, after some nodes, or as usual, in turn; seeds that
/// differ by less than 12 mostly agree, so that every kind of world meets each.
inline NodeEffort node_effort(std::uint64_t seed) {
  NodeEffort effort;
  switch (seed / 12 % 3) {
    case 0:
      effort.weight = 1'000'000;
      break;
    case 1:
      effort.weight = 10'000;
      break;
    default:
      break;
  }
  return effort;
}

}  // namespace dfsearch::test
