#pragma once
// Signals as a flag that stops a search, and the time limit of reading inputs.

#include <atomic>
#include <chrono>
#include <optional>

#include "base/deadline.hpp"
#include "base/units.hpp"

namespace dfsearch {

/// After this call the first SIGINT, SIGTERM or SIGHUP raises the flag and the second one kills;
/// SIGXCPU, of the soft limit on processor time, raises it as well.  SIGQUIT still kills at once.
/// Signals that were ignored, as under nohup, stay ignored.  Returns the flag.
const std::atomic<bool>* stop_on_signals();

/// While this object lives, signals raise the flag; afterwards they kill again.
class SignalsStop {
 public:
  SignalsStop() : flag_(stop_on_signals()) {}
  SignalsStop(const SignalsStop&) = delete;
  SignalsStop& operator=(const SignalsStop&) = delete;
  ~SignalsStop();

  [[nodiscard]] const std::atomic<bool>* flag() const { return flag_; }

 private:
  const std::atomic<bool>* flag_;
};

/// A write to a closed pipe, or beyond the largest file that the shell allows, fails from now on
/// instead of killing.
void make_writes_fail();

/// Deadline for reading the input of a run that began at `begin` and may take `time`.
Deadline input_deadline(std::optional<Seconds> time, std::chrono::steady_clock::time_point begin,
                        const std::atomic<bool>* stop);

/// Thrown if a limit or a signal ends the reading of an input.
struct StoppedInput {
  bool by_signal = false;
};

/// The time limit of all work before a search, mainly reading its input: when it passes, the
/// process ends as if stopped without a mapping, since there is nothing to report yet.  Only one
/// StartLimit may live at a time.
class StartLimit {
 public:
  /// `begin` is the beginning of the run.
  StartLimit(std::optional<Seconds> time, std::chrono::steady_clock::time_point begin);
  StartLimit(const StartLimit&) = delete;
  StartLimit& operator=(const StartLimit&) = delete;
  ~StartLimit() { lift(); }

  /// Call it when the search begins, which then ends by the returned deadline or by a signal.
  /// `time` is the time of the whole run.
  Deadline begin_search(Seconds time);

 private:
  static void lift();

  const std::chrono::steady_clock::time_point start_;
};

}  // namespace dfsearch
