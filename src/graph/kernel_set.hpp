#pragma once
// A set of kernels as bits, for graphs of any size.

#include <algorithm>
#include <bit>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>

namespace dfsearch {

/// Members are positions 0..capacity-1.  Up to 128 kernels live inside the
/// object; larger sets take one allocation.  Sets that are combined or compared
/// must have the same capacity.
class KernelSet {
 public:
  KernelSet() = default;
  explicit KernelSet(std::size_t capacity) : words_((capacity + 63) / 64, 0) {}

  void insert(std::size_t member) { words_[member / 64] |= bit(member); }
  void erase(std::size_t member) { words_[member / 64] &= ~bit(member); }
  [[nodiscard]] bool contains(std::size_t member) const {
    return (words_[member / 64] & bit(member)) != 0;
  }

  [[nodiscard]] bool empty() const {
    return std::all_of(words_.begin(), words_.end(), [](std::uint64_t w) { return w == 0; });
  }
  [[nodiscard]] std::size_t size() const {
    std::size_t count = 0;
    for (const std::uint64_t w : words_) count += static_cast<std::size_t>(std::popcount(w));
    return count;
  }

  KernelSet& operator|=(const KernelSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
  }

  /// Calls `visit(member)` for every member, ascending.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t w = words_[i]; w != 0; w &= w - 1) {
        visit(i * 64 + static_cast<std::size_t>(std::countr_zero(w)));
      }
    }
  }

  /// The first member at or after `from`, or `capacity` rounded up to words.
  [[nodiscard]] std::size_t first_from(std::size_t from) const {
    for (std::size_t i = from / 64; i < words_.size(); ++i) {
      std::uint64_t w = words_[i];
      if (i == from / 64) w &= ~std::uint64_t{0} << (from % 64);
      if (w != 0) return i * 64 + static_cast<std::size_t>(std::countr_zero(w));
    }
    return words_.size() * 64;
  }
  [[nodiscard]] std::size_t end() const { return words_.size() * 64; }

  [[nodiscard]] std::size_t hash() const {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL;
    for (const std::uint64_t w : words_) {
      h ^= w;
      h *= 0xff51afd7ed558ccdULL;
      h ^= h >> 32;
    }
    return static_cast<std::size_t>(h);
  }
  friend bool operator==(const KernelSet& a, const KernelSet& b) {
    return std::equal(a.words_.begin(), a.words_.end(), b.words_.begin(), b.words_.end());
  }

 private:
  static constexpr std::uint64_t bit(std::size_t member) {
    return std::uint64_t{1} << (member % 64);
  }

  boost::container::small_vector<std::uint64_t, 2> words_;
};

struct KernelSetHash {
  std::size_t operator()(const KernelSet& set) const { return set.hash(); }
};

}  // namespace dfsearch
