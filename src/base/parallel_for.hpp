#pragma once
// Loops whose iterations run on the threads of TBB, in any order.  For the thread sanitizer they
// state the guarantees of TBB: a task sees all writes before its start, and a thread that waits for
// a task sees the writes of the task.  The distribution's libtbb is not instrumented, so the
// sanitizer does not see that by itself.  Other builds have no such code.

#include <oneapi/tbb/parallel_for.h>

#include <cstddef>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

// DFSEARCH_TASK marks a lambda that is a task: its captures are on the stack of the waiting thread
// and are read before take_over is called.  Functions that it calls are checked as usual.
#ifdef __SANITIZE_THREAD__
#define DFSEARCH_TASK __attribute__((no_sanitize("thread")))
#else
#define DFSEARCH_TASK
#endif

namespace dfsearch {

/// Makes the writes of this thread visible to threads that call take_over(place).
inline void hand_over([[maybe_unused]] void* place) {
#ifdef __SANITIZE_THREAD__
  __tsan_release(place);
#endif
}

inline void take_over([[maybe_unused]] void* place) {
#ifdef __SANITIZE_THREAD__
  __tsan_acquire(place);
#endif
}

/// Calls body(i) for each i below `count`.  An iteration sees all writes before the loop, and code
/// after the loop sees the writes of all iterations.  An exception of an iteration leaves the loop.
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
