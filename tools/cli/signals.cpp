#include "cli/signals.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>

#include "cli/exit_status.hpp"

namespace dfsearch {
namespace {

// A handler can reach nothing but globals.  Set by it, read by the workers.
std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "the handler must not take a lock");

void set_timer(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

/// Calls only what is safe in a signal handler: write and _exit.
void on_alarm(int /*signal*/) {
  constexpr char kMessage[] = "stopped by the time limit before the search began\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  _exit(kStoppedWithout);
}

constexpr std::array kStopSignals = {SIGINT, SIGTERM};

/// Calls only what is safe in a signal handler: sigaction, isatty and write.
void on_signal(int /*signal*/) {
  const int saved_errno = errno;
  stop_requested.store(true, std::memory_order_relaxed);  // nothing else is published
  struct sigaction fatal {};
  fatal.sa_handler = SIG_DFL;
  for (const int signal : kStopSignals) sigaction(signal, &fatal, nullptr);
  constexpr char kMessage[] = "\nstopping, the best mapping follows; once more kills\n";
  if (isatty(STDERR_FILENO) != 0) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  }
  errno = saved_errno;
}

}  // namespace

const std::atomic<bool>* stop_on_signals() {
  struct sigaction stop {};
  stop.sa_handler = on_signal;
  stop.sa_flags = SA_RESTART;  // files are written to their end
  // Neither handler may interrupt the other.
  for (const int signal : kStopSignals) sigaddset(&stop.sa_mask, signal);
  for (const int signal : kStopSignals) {
    struct sigaction old {};
    sigaction(signal, nullptr, &old);
    if (old.sa_handler != SIG_IGN) sigaction(signal, &stop, nullptr);
  }
  return &stop_requested;
}

void make_writes_fail() {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (const int signal : {SIGPIPE, SIGXFSZ}) sigaction(signal, &ignore, nullptr);
}

StartLimit::StartLimit(std::optional<Seconds> time) {
  constexpr Seconds kLongest{1e8};  // about three years; a timer takes no infinity
  // What is read by then, as any input of usual size, leads to a result that tells of the limit.
  constexpr Seconds kGrace{1.0};
  if (!time || !(*time < kLongest)) return;
  struct sigaction end {};
  end.sa_handler = on_alarm;
  sigaction(SIGALRM, &end, nullptr);
  set_timer((*time + kGrace).in_base_units());
}

void StartLimit::lift() { set_timer(0.0); }

Deadline StartLimit::begin_search(Seconds time) {
  lift();
  const std::chrono::duration<double> used = std::chrono::steady_clock::now() - start_;
  return Deadline(time - Seconds(used.count()), stop_on_signals());
}

}  // namespace dfsearch
