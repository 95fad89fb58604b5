#pragma once
// SIGINT and SIGTERM as a flag.

#include <atomic>

namespace dfsearch {

/// From now on the first SIGINT or SIGTERM raises the flag, the second kills.
/// Signals that were ignored, as under nohup, stay so.  Returns the flag.
const std::atomic<bool>* stop_on_signals();

/// A write to a closed pipe fails from now on instead of killing.
void ignore_broken_pipes();

}  // namespace dfsearch
