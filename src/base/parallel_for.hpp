#pragma once
// Loops whose turns run on the threads of TBB, in any order.

#include <oneapi/tbb/parallel_for.h>

#include <cstddef>

#include "base/task_handover.hpp"

namespace dfsearch {

/// Calls body(i) for each i below `count`.  A turn sees all writes before the loop, and code after
/// the loop sees the writes of all turns.  An exception of a turn leaves the loop.
template <class Body>
void parallel_for(std::size_t count, const Body& body) {
  [[maybe_unused]] char place = 0;
  hand_over(&place);
  oneapi::tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) DFSEARCH_TASK {
    take_over(&place);
    body(i);
    hand_over(&place);
  });
  take_over(&place);
}

}  // namespace dfsearch
