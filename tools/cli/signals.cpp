#include "cli/signals.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace dfsearch {
namespace {

// A handler can reach nothing but globals.  Set by it, read by the workers.
std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "the handler must not take a lock");

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

void ignore_broken_pipes() {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);
}

}  // namespace dfsearch
