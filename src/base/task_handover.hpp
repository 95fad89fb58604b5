#pragma once
// Passes guarantees of TBB to the thread sanitizer: a task sees all writes before it was handed
// out, and a thread that waits for a task sees the writes of the task.  The distribution's libtbb
// is not instrumented, so the sanitizer does not see that by itself.  Nothing at all in other
// builds.

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace dfsearch {

/// Makes the writes of this thread visible to threads that take `place` over.
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

}  // namespace dfsearch

// DFSEARCH_TASK marks a lambda that is a task: it lies with the thread that waits for it and is
// read before it can take over anything.  Functions that it calls are checked as usual.
#ifdef __SANITIZE_THREAD__
#define DFSEARCH_TASK __attribute__((no_sanitize("thread")))
#else
#define DFSEARCH_TASK
#endif
