#pragma once
// Threads that take part in shared work.

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/shared_work.hpp"

namespace dfsearch::test {

/// Threads that help until they are told to end.
class Helpers {
 public:
  Helpers(SharedWork& work, int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, &work, waits = i % 2 == 1] {
        while (!end_.load(std::memory_order_relaxed)) {
          const bool helped = waits ? work.help_within(std::chrono::milliseconds{1}) : work.help();
          if (helped) helped_.fetch_add(1, std::memory_order_relaxed);
        }
      });
    }
  }
  ~Helpers() {
    end_.store(true, std::memory_order_relaxed);
    for (std::thread& thread : threads_) thread.join();
  }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  [[nodiscard]] int helped() const { return helped_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> end_ = false;
  std::atomic<int> helped_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace dfsearch::test
