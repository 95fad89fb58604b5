#include "base/shared_work.hpp"

#include <utility>

namespace dfsearch {

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
