#pragma once
// A thread that does something from time to time.

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/units.hpp"

namespace dfsearch {

/// Calls `tick` once an interval, first after one of them, until it is stopped or
/// `tick` throws.
class Ticker {
 public:
  Ticker(Seconds interval, std::function<void()> tick)
      : tick_(std::move(tick)),
        thread_([this, interval](const std::stop_token& stop) { run(stop, interval); }) {}

  /// Waits until no tick runs or begins any more; rethrows the exception of a tick.
  void stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void run(const std::stop_token& stop, Seconds interval) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    const std::chrono::duration<double> pause(interval.in_base_units());
    try {
      for (;;) {
        wake.wait_for(lock, stop, pause, [] { return false; });
        if (stop.stop_requested()) return;
        tick_();
      }
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  std::function<void()> tick_;
  std::exception_ptr error_;  // written by the thread, read after it has ended
  std::jthread thread_;       // last: it uses the others
};

}  // namespace dfsearch
