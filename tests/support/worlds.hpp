#pragma once
// How many random worlds a case tries.

#include <cstdlib>

namespace dfsearch::test {

/// A fourth of a number of worlds, or of what they show; all with DFSEARCH_ALL_WORLDS in the
/// environment, as the long suites run cases of the suite `worlds`.
template <class Count>
Count share_of(Count all) {
  return std::getenv("DFSEARCH_ALL_WORLDS") != nullptr ? all : all / 4;
}

}  // namespace dfsearch::test
