#pragma once
// Signals that stop a search as a flag, and what else comes from outside.

#include <atomic>
#include <chrono>
#include <optional>

#include "base/deadline.hpp"
#include "base/units.hpp"

namespace dfsearch {

/// The first SIGINT, SIGTERM or SIGHUP raises the flag from now on, the second kills; SIGXCPU, of
/// the soft limit of processor time, raises it as well.  SIGQUIT still kills at once.  Signals that
/// were ignored, as under nohup, stay so.  Returns the flag.
const std::atomic<bool>* stop_on_signals();

/// Signals raise that flag while it lives; then they kill again.
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

/// Until when input may be read of a run that began then and may take so long.
Deadline input_deadline(std::optional<Seconds> time, std::chrono::steady_clock::time_point begin,
                        const std::atomic<bool>* stop);

/// Thrown where a limit or a signal ends the reading of an input.
struct StoppedInput {
  bool by_signal = false;
};

/// The time limit of what comes before a search, reading its input above all: until
/// the search begins the process ends after so long, as one that was stopped without a mapping,
/// since there is nothing to report yet.  One at a time.
class StartLimit {
 public:
  /// `begin`: when the run began.
  StartLimit(std::optional<Seconds> time, std::chrono::steady_clock::time_point begin);
  StartLimit(const StartLimit&) = delete;
  StartLimit& operator=(const StartLimit&) = delete;
  ~StartLimit() { lift(); }

  /// The search begins: from now on its deadline ends it, which signals bring forward.  `time` is
  /// the time of the whole run.
  Deadline begin_search(Seconds time);

 private:
  static void lift();

  const std::chrono::steady_clock::time_point start_;
};

}  // namespace dfsearch
