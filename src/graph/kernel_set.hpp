#pragma once
// A set of kernels as bits, for graphs of any size.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dfsearch {

/// A set of kernels: its members are positions 0..capacity-1.  Up to 128 kernels live
/// inside the object; larger sets take one allocation.  Sets that are combined or
/// compared must have the same capacity.
class KernelSet {
 public:
  KernelSet() = default;
  explicit KernelSet(std::size_t capacity) : words_((capacity + 63) / 64) {
    if (words_ > kInside) many_.resize(words_, 0);
  }

  void insert(std::size_t member) { data()[member / 64] |= bit(member); }
  void erase(std::size_t member) { data()[member / 64] &= ~bit(member); }
  [[nodiscard]] bool contains(std::size_t member) const {
    return (data()[member / 64] & bit(member)) != 0;
  }

  KernelSet& operator|=(const KernelSet& other) {
    for (std::size_t i = 0; i < words_; ++i) data()[i] |= other.data()[i];
    return *this;
  }
  KernelSet& operator&=(const KernelSet& other) {
    for (std::size_t i = 0; i < words_; ++i) data()[i] &= other.data()[i];
    return *this;
  }

  KernelSet& operator-=(const KernelSet& other) {
    for (std::size_t i = 0; i < words_; ++i) data()[i] &= ~other.data()[i];
    return *this;
  }

  [[nodiscard]] bool contains_all(const KernelSet& other) const {
    for (std::size_t i = 0; i < words_; ++i) {
      if ((other.data()[i] & ~data()[i]) != 0) return false;
    }
    return true;
  }
  [[nodiscard]] bool intersects(const KernelSet& other) const {
    for (std::size_t i = 0; i < words_; ++i) {
      if ((other.data()[i] & data()[i]) != 0) return true;
    }
    return false;
  }

  /// Whether it contains all that these two have in common.
  [[nodiscard]] bool contains_common(const KernelSet& a, const KernelSet& b) const {
    for (std::size_t i = 0; i < words_; ++i) {
      if ((a.data()[i] & b.data()[i] & ~data()[i]) != 0) return false;
    }
    return true;
  }

  /// Calls `visit(member)` for every member, ascending.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < words_; ++i) {
      for (std::uint64_t w = data()[i]; w != 0; w &= w - 1) {
        visit(i * 64 + static_cast<std::size_t>(std::countr_zero(w)));
      }
    }
  }

  /// The same for every member that the other set has, too.
  template <class Visit>
  void for_each_common(const KernelSet& other, Visit visit) const {
    for (std::size_t i = 0; i < words_; ++i) {
      for (std::uint64_t w = data()[i] & other.data()[i]; w != 0; w &= w - 1) {
        visit(i * 64 + static_cast<std::size_t>(std::countr_zero(w)));
      }
    }
  }

  [[nodiscard]] std::size_t size() const { return size_of_common(*this); }
  /// Of the members that the other set has, too.
  [[nodiscard]] std::size_t size_of_common(const KernelSet& other) const {
    std::size_t members = 0;
    for (std::size_t i = 0; i < words_; ++i) {
      members += static_cast<std::size_t>(std::popcount(data()[i] & other.data()[i]));
    }
    return members;
  }

  /// The first member at or after `from`, or `end()`.
  [[nodiscard]] std::size_t first_from(std::size_t from) const {
    std::uint64_t mask = ~std::uint64_t{0} << (from % 64);
    for (std::size_t i = from / 64; i < words_; ++i, mask = ~std::uint64_t{0}) {
      const std::uint64_t w = data()[i] & mask;
      if (w != 0) return i * 64 + static_cast<std::size_t>(std::countr_zero(w));
    }
    return end();
  }
  [[nodiscard]] std::size_t end() const { return words_ * 64; }

  /// A bit for each member, the lowest first.
  [[nodiscard]] std::span<const std::uint64_t> words() const { return {data(), words_}; }

  /// Memory beyond the size of the object.
  [[nodiscard]] std::size_t heap_bytes() const {
    return words_ > kInside ? words_ * sizeof(std::uint64_t) : 0;
  }

  [[nodiscard]] std::size_t hash() const {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL;
    for (std::size_t i = 0; i < words_; ++i) {
      // Two rounds: after one the upper bits of a word move few bits of the hash.
      h ^= data()[i];
      h = (h ^ (h >> 32)) * 0xff51afd7ed558ccdULL;
      h = (h ^ (h >> 29)) * 0xc4ceb9fe1a85ec53ULL;
      h ^= h >> 32;
    }
    return static_cast<std::size_t>(h);
  }
  friend bool operator==(const KernelSet&, const KernelSet&) = default;

 private:
  static constexpr std::size_t kInside = 2;

  static constexpr std::uint64_t bit(std::size_t member) {
    return std::uint64_t{1} << (member % 64);
  }
  [[nodiscard]] std::uint64_t* data() { return words_ > kInside ? many_.data() : few_.data(); }
  [[nodiscard]] const std::uint64_t* data() const {
    return words_ > kInside ? many_.data() : few_.data();
  }

  std::size_t words_ = 0;
  std::array<std::uint64_t, kInside> few_{};
  std::vector<std::uint64_t> many_;
};

struct KernelSetHash {
  std::size_t operator()(const KernelSet& set) const { return set.hash(); }
};

}  // namespace dfsearch
