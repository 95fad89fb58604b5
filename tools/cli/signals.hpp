#pragma once
// SIGINT and SIGTERM as a flag, and what else comes from outside.

#include <atomic>
#include <chrono>
#include <optional>

#include "base/deadline.hpp"
#include "base/units.hpp"

namespace dfsearch {

/// From now on the first SIGINT or SIGTERM raises the flag, the second kills.
/// Signals that were ignored, as under nohup, stay so.  Returns the flag.
const std::atomic<bool>* stop_on_signals();

/// A write to a closed pipe, or beyond the largest file that the shell allows, fails from now on
/// instead of killing.
void make_writes_fail();

/// The time limit of what comes before a search, reading its input above all: until
/// the search begins the process ends after so long, as one that was stopped without a mapping, since there is
/// nothing to report yet.  One at a time.
class StartLimit {
 public:
  explicit StartLimit(std::optional<Seconds> time);
  StartLimit(const StartLimit&) = delete;
  StartLimit& operator=(const StartLimit&) = delete;
  ~StartLimit() { lift(); }

  /// The search begins: from now on its deadline, which signals bring forward, is what ends it.
  /// `time` is that of the whole run.
  Deadline begin_search(Seconds time);

 private:
  static void lift();

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace dfsearch
