#pragma once
// The limit of the bytes that a search holds, and their count.

#include <atomic>
#include <cstddef>
#include <utility>

#include "base/units.hpp"

namespace dfsearch {

/// Counts the bytes of data without a bound on their size: open nodes, transposition tables, and
/// others.  It counts roughly the bytes requested from the allocator, not pages, so the process
/// takes some more.  It refuses nothing; a caller that is about to grow checks whether memory is
/// tight and then uses less.  It must outlive all its charges.  Any thread may use it.
class MemoryBudget {
 public:
  explicit MemoryBudget(Bytes limit = Bytes::infinity()) : limit_(limit) {}

  void add(std::size_t bytes) {
    // Relaxed throughout: no data is published with these numbers, and a number that
    // arrives late only makes the search careful a little later.
    const std::size_t used = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::size_t most = most_.load(std::memory_order_relaxed);
    while (used > most && !most_.compare_exchange_weak(most, used, std::memory_order_relaxed)) {
    }
  }
  void remove(std::size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  /// True if three quarters of the limit are used, or would be with `more` bytes.
  [[nodiscard]] bool is_tight(std::size_t more = 0) const {
    const std::size_t used = used_.load(std::memory_order_relaxed);
    return static_cast<double>(used) + static_cast<double>(more) >= 0.75 * limit_.in_base_units();
  }

  [[nodiscard]] Bytes limit() const { return limit_; }
  /// Bytes held now.
  [[nodiscard]] Bytes used() const {
    return Bytes(static_cast<double>(used_.load(std::memory_order_relaxed)));
  }
  /// The most bytes that were held at once.
  [[nodiscard]] Bytes most() const {
    return Bytes(static_cast<double>(most_.load(std::memory_order_relaxed)));
  }

 private:
  const Bytes limit_;
  std::atomic<std::size_t> used_{0};
  std::atomic<std::size_t> most_{0};
};

/// Bytes that are charged to a budget as long as this lives.
class MemoryCharge {
 public:
  MemoryCharge() = default;
  /// `budget` is null if no budget counts the bytes.
  MemoryCharge(MemoryBudget* budget, std::size_t bytes) : budget_(budget), bytes_(bytes) {
    if (budget_ != nullptr) budget_->add(bytes_);
  }
  /// A copy charges the same number of bytes again.
  MemoryCharge(const MemoryCharge& other) : MemoryCharge(other.budget_, other.bytes_) {}
  MemoryCharge(MemoryCharge&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
  MemoryCharge& operator=(MemoryCharge other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryCharge() {
    if (budget_ != nullptr) budget_->remove(bytes_);
  }

 private:
  MemoryBudget* budget_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Bytes of an allocation beyond the requested size.
inline constexpr std::size_t kAllocation = 16;

}  // namespace dfsearch
