#pragma once
// Work in pieces that other threads take part in.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>

namespace dfsearch {

/// One thread has the work, others help when they pass by.  Nobody waits for help: alone that
/// thread does all of it.
class SharedWork {
 public:
  using Piece = std::function<void(std::size_t)>;

  /// Calls `piece` with all numbers below `count`, begun in ascending order, from several threads if
  /// some help; once all of them have returned, so does this.  If some threw, no more are begun, and
  /// what one of them threw is thrown.  Not to be called again before it has returned.
  void run(std::size_t count, const Piece& piece);

  /// Whether there may be pieces; it costs nothing to ask.  Any thread.
  [[nodiscard]] bool has_any() const { return is_open_.load(std::memory_order_relaxed); }
  /// Does pieces while there are some.  True if there were any.  Any thread.
  bool help();
  /// The same, once there are some, if that is within so long.
  bool help_within(std::chrono::microseconds patience);

 private:
  void work(std::unique_lock<std::mutex>& lock);

  // Written with the mutex, read without it, too.
  std::atomic<bool> is_open_ = false;   // whether there may be pieces
  std::atomic<std::size_t> begun_ = 0;  // and not yet done
  std::mutex mutex_;                    // guards what follows; held between pieces
  std::condition_variable begins_;      // there are pieces
  std::condition_variable ends_;        // none is at work
  const Piece* piece_ = nullptr;
  std::size_t count_ = 0;
  std::size_t next_ = 0;
  std::exception_ptr thrown_;
};

}  // namespace dfsearch
