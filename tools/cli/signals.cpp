#include "cli/signals.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <ctime>

#include "cli/commands.hpp"

namespace dfsearch {
namespace {

// Global, as a handler can reach nothing else.  Set by the handler, read by the workers.
std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "the handler must not take a lock");

// Processor time that suffices to read any input of usual size, so that the run ends with a result
// in spite of the limit.  On a busy machine it may take up to the longest grace.  The reader of
// ONNX models, a separate process, has this time after the limit.
constexpr Seconds kGrace{0.2}, kLongestGrace{1.0};
constexpr Seconds kBetweenChecks{0.02};

Seconds since(std::chrono::steady_clock::time_point begin) {
  const std::chrono::duration<double> used = std::chrono::steady_clock::now() - begin;
  return Seconds(used.count());
}

timeval timeval_of(Seconds time) {
  const double seconds = time.in_base_units();
  return {.tv_sec = static_cast<time_t>(seconds),
          .tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6)};
}

/// Sets the first alarm after `time`, then repeated ones; zero: none.
void set_timer(Seconds time) {
  const itimerval timer{.it_interval = timeval_of(kBetweenChecks), .it_value = timeval_of(time)};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

/// Processor time of the process; may be called by a signal handler.
Seconds work_so_far() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return Seconds(static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec));
}

// Written before the first alarm, as a rank of MPI may have waited for its study until then.
Seconds work_before_input;

/// Calls only functions that are safe in a signal handler: clock_gettime, write and _exit.
void on_alarm(int /*signal*/) {
  static volatile std::sig_atomic_t alarms = 0;
  alarms = alarms + 1;
  if (work_so_far() - work_before_input < kGrace && alarms < kLongestGrace / kBetweenChecks) return;
  constexpr char kMessage[] = "stopped by the time limit before the search began\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  _exit(kStoppedWithout);
}

constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGHUP};

/// A limit on processor time (`ulimit -t`) repeats this signal every second, so repetitions must
/// not kill.
void on_spent_time(int /*signal*/) { stop_requested.store(true, std::memory_order_relaxed); }

/// Calls only functions that are safe in a signal handler: sigaction, isatty and write.
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
  stop.sa_flags = SA_RESTART;  // writes to files are not interrupted
  // Neither handler may interrupt the other.
  for (const int signal : kStopSignals) sigaddset(&stop.sa_mask, signal);
  for (const int signal : kStopSignals) {
    struct sigaction old {};
    sigaction(signal, nullptr, &old);
    if (old.sa_handler != SIG_IGN) sigaction(signal, &stop, nullptr);
  }
  stop.sa_handler = on_spent_time;
  sigaction(SIGXCPU, &stop, nullptr);
  return &stop_requested;
}

void make_writes_fail() {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (const int signal : {SIGPIPE, SIGXFSZ}) sigaction(signal, &ignore, nullptr);
}

SignalsStop::~SignalsStop() {
  for (const int signal : kStopSignals) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if (now.sa_handler != on_signal) continue;
    now.sa_handler = SIG_DFL;
    sigaction(signal, &now, nullptr);
  }
}

Deadline input_deadline(std::optional<Seconds> time, std::chrono::steady_clock::time_point begin,
                        const std::atomic<bool>* stop) {
  return Deadline(time ? *time + kGrace - since(begin) : Seconds::infinity(), stop);
}

StartLimit::StartLimit(std::optional<Seconds> time, std::chrono::steady_clock::time_point begin)
    : start_(begin) {
  constexpr Seconds kLongest{1e8};    // about three years; a timer takes no infinity
  constexpr Seconds kShortest{1e-3};  // zero would set no timer
  if (!time || !(*time < kLongest)) return;
  work_before_input = work_so_far();
  struct sigaction end {};
  end.sa_handler = on_alarm;
  end.sa_flags = SA_RESTART;  // an alarm that comes too early changes nothing
  sigaction(SIGALRM, &end, nullptr);
  set_timer(std::max(*time - since(start_), kShortest));
}

void StartLimit::lift() { set_timer(Seconds{}); }

Deadline StartLimit::begin_search(Seconds time) {
  lift();
  return Deadline(time - since(start_), stop_on_signals());
}

}  // namespace dfsearch
