#include "base/shared_work.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace dfsearch {
namespace {

// To wake a thread that sleeps takes as long as many a piece.
constexpr std::chrono::microseconds kAwake{100};

/// Until it is ready or so much time is over, whichever is first.
template <class IsReady>
void stay_awake(std::chrono::microseconds patience, IsReady is_ready) {
  const auto end = std::chrono::steady_clock::now() + std::min(patience, kAwake);
  while (!is_ready() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

}  // namespace

void SharedWork::run(std::size_t count, const Piece& piece) {
  std::unique_lock lock(mutex_);
  piece_ = &piece;
  count_ = count;
  next_ = 0;
  if (count > 1) {
    is_open_.store(true, std::memory_order_relaxed);
    begins_.notify_all();
  }
  work(lock);
  if (begun_ > 0) {
    lock.unlock();
    stay_awake(kAwake, [this] { return begun_.load(std::memory_order_relaxed) == 0; });
    lock.lock();
  }
  ends_.wait(lock, [this] { return begun_ == 0; });
  piece_ = nullptr;
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

bool SharedWork::help() {
  if (!has_any()) return false;
  std::unique_lock lock(mutex_);
  const bool any = next_ < count_;
  work(lock);
  return any;
}

bool SharedWork::help_within(std::chrono::microseconds patience) {
  stay_awake(patience, [this] { return has_any(); });
  std::unique_lock lock(mutex_);
  const bool any = begins_.wait_for(lock, patience, [this] { return next_ < count_; });
  work(lock);
  return any;
}

void SharedWork::work(std::unique_lock<std::mutex>& lock) {
  while (next_ < count_) {
    const std::size_t number = next_++;
    if (next_ == count_) is_open_.store(false, std::memory_order_relaxed);
    ++begun_;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      (*piece_)(number);
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    if (thrown) {
      thrown_ = thrown;
      next_ = count_;
      is_open_.store(false, std::memory_order_relaxed);
    }
    if (--begun_ == 0) ends_.notify_one();
  }
}

}  // namespace dfsearch
