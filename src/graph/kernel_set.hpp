#pragma once
// A set of kernels as bits, for graphs of any size.

#include <algorithm>
#include <array>
#include <bit>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/error.hpp"

namespace dfsearch {

/// A set of kernels: its members are positions 0..capacity-1.  Up to 256 kernels live
/// inside the object; larger sets take one allocation.  Sets that are combined or
/// compared must have the same capacity.
class KernelSet {
 public:
  KernelSet() = default;
  explicit KernelSet(std::size_t capacity) : words_((capacity + 63) / 64) {
    if (words_ > kInside) many_ = std::make_unique<std::uint64_t[]>(words_);
  }
  KernelSet(const KernelSet& other) : words_(other.words_), few_(other.few_) {
    if (words_ <= kInside) return;
    many_ = std::make_unique_for_overwrite<std::uint64_t[]>(words_);
    std::copy_n(other.many_.get(), words_, many_.get());
  }
  KernelSet(KernelSet&&) noexcept = default;
  KernelSet& operator=(const KernelSet& other) {
    const bool was_moved = words_ > kInside && !many_;
    if (words_ != other.words_ || was_moved) return *this = KernelSet(other);
    std::copy_n(other.data(), words_, data());
    return *this;
  }
  KernelSet& operator=(KernelSet&&) noexcept = default;
  ~KernelSet() = default;

  void insert(std::size_t member) {
    DFSEARCH_ASSERT(member < end());
    data()[member / 64] |= bit(member);
  }
  void erase(std::size_t member) { data()[member / 64] &= ~bit(member); }
  [[nodiscard]] bool contains(std::size_t member) const {
    return (data()[member / 64] & bit(member)) != 0;
  }

  KernelSet& operator|=(const KernelSet& other) {
    return change_by(other, [](std::uint64_t own, std::uint64_t its) { return own | its; });
  }
  KernelSet& operator&=(const KernelSet& other) {
    return change_by(other, [](std::uint64_t own, std::uint64_t its) { return own & its; });
  }
  KernelSet& operator-=(const KernelSet& other) {
    return change_by(other, [](std::uint64_t own, std::uint64_t its) { return own & ~its; });
  }

  [[nodiscard]] bool contains_all(const KernelSet& other) const {
    const std::uint64_t* const own = data();
    const std::uint64_t* const its = other.data();
    for (std::size_t i = 0; i < words_; ++i) {
      if ((its[i] & ~own[i]) != 0) return false;
    }
    return true;
  }
  [[nodiscard]] bool intersects(const KernelSet& other) const {
    const std::uint64_t* const own = data();
    const std::uint64_t* const its = other.data();
    for (std::size_t i = 0; i < words_; ++i) {
      if ((its[i] & own[i]) != 0) return true;
    }
    return false;
  }

  /// Whether it contains the intersection of the two sets.
  [[nodiscard]] bool contains_common(const KernelSet& a, const KernelSet& b) const {
    const std::uint64_t* const own = data();
    const std::uint64_t* const of_a = a.data();
    const std::uint64_t* const of_b = b.data();
    for (std::size_t i = 0; i < words_; ++i) {
      if ((of_a[i] & of_b[i] & ~own[i]) != 0) return false;
    }
    return true;
  }

  /// Calls `visit(member)` for every member, ascending.
  template <class Visit>
  void for_each(Visit visit) const {
    const std::uint64_t* const own = data();
    for (std::size_t i = 0; i < words_; ++i) {
      for (std::uint64_t w = own[i]; w != 0; w &= w - 1) {
        visit(i * 64 + static_cast<std::size_t>(std::countr_zero(w)));
      }
    }
  }

  /// Calls `visit` for every member of the intersection with the other set.
  template <class Visit>
  void for_each_common(const KernelSet& other, Visit visit) const {
    const std::uint64_t* const own = data();
    const std::uint64_t* const its = other.data();
    for (std::size_t i = 0; i < words_; ++i) {
      for (std::uint64_t w = own[i] & its[i]; w != 0; w &= w - 1) {
        visit(i * 64 + static_cast<std::size_t>(std::countr_zero(w)));
      }
    }
  }

  [[nodiscard]] std::size_t size() const { return size_of_common(*this); }
  /// The number of members of the intersection with the other set.
  [[nodiscard]] std::size_t size_of_common(const KernelSet& other) const {
    const std::uint64_t* const own = data();
    const std::uint64_t* const its = other.data();
    std::size_t members = 0;
    for (std::size_t i = 0; i < words_; ++i) {
      members += bits_of(own[i] & its[i]);
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
    const std::uint64_t* const own = data();
    std::uint64_t h = 0x9e3779b97f4a7c15ULL;
    for (std::size_t i = 0; i < words_; ++i) {
      // Two rounds: after one the upper bits of a word move few bits of the hash.
      h ^= own[i];
      h = (h ^ (h >> 32)) * 0xff51afd7ed558ccdULL;
      h = (h ^ (h >> 29)) * 0xc4ceb9fe1a85ec53ULL;
      h ^= h >> 32;
    }
    return static_cast<std::size_t>(h);
  }
  friend bool operator==(const KernelSet& a, const KernelSet& b) {
    return a.words_ == b.words_ && std::equal(a.data(), a.data() + a.words_, b.data());
  }

 private:
  static constexpr std::size_t kInside = 4;

  /// The pointers are locals on purpose: a compiler must assume that a write to a word changes the
  /// members of a set (aliasing), and would load them anew for each word.
  template <class Change>
  KernelSet& change_by(const KernelSet& other, Change change) {
    std::uint64_t* const own = data();
    const std::uint64_t* const its = other.data();
    const std::size_t words = words_;
    for (std::size_t i = 0; i < words; ++i) own[i] = change(own[i], its[i]);
    return *this;
  }

  /// The number of bits that are set.  If the processor has no instruction for it, the bits of
  /// pairs, fours, bytes and the word are added up (Warren 2002): std::popcount would be a call for
  /// each word.
  static constexpr std::size_t bits_of(std::uint64_t word) {
#ifdef __POPCNT__
    return static_cast<std::size_t>(std::popcount(word));
#else
    word -= (word >> 1) & 0x5555555555555555ULL;
    word = (word & 0x3333333333333333ULL) + ((word >> 2) & 0x3333333333333333ULL);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
    return static_cast<std::size_t>((word * 0x0101010101010101ULL) >> 56);
#endif
  }
  static constexpr std::uint64_t bit(std::size_t member) {
    return std::uint64_t{1} << (member % 64);
  }
  [[nodiscard]] std::uint64_t* data() { return words_ > kInside ? many_.get() : few_.data(); }
  [[nodiscard]] const std::uint64_t* data() const {
    return words_ > kInside ? many_.get() : few_.data();
  }

  std::size_t words_ = 0;
  std::array<std::uint64_t, kInside> few_{};
  std::unique_ptr<std::uint64_t[]> many_;
};

struct KernelSetHash {
  std::size_t operator()(const KernelSet& set) const { return set.hash(); }
};

/// Some kernels, ascending, which in a large graph take less memory than a set.  Up to eight live
/// inside the object; more take one allocation.
class KernelList {
 public:
  KernelList() = default;
  /// The members in any order, each once.
  explicit KernelList(std::span<const std::uint32_t> kernels)
      : kernels_(kernels.begin(), kernels.end()) {
    std::sort(kernels_.begin(), kernels_.end());
  }
  explicit KernelList(const KernelSet& set) {
    set.for_each([this](std::size_t p) { kernels_.push_back(static_cast<std::uint32_t>(p)); });
  }

  [[nodiscard]] KernelSet as_set(std::size_t capacity) const {
    KernelSet set(capacity);
    for (const std::uint32_t p : kernels_) set.insert(p);
    return set;
  }

  [[nodiscard]] auto begin() const { return kernels_.begin(); }
  [[nodiscard]] auto end() const { return kernels_.end(); }
  [[nodiscard]] std::size_t size() const { return kernels_.size(); }
  [[nodiscard]] bool contains(std::size_t kernel) const {
    return std::binary_search(begin(), end(), kernel);
  }

  /// Memory beyond the size of the object.
  [[nodiscard]] std::size_t heap_bytes() const {
    return size() > kInside ? kernels_.capacity() * sizeof(std::uint32_t) : 0;
  }

 private:
  static constexpr std::size_t kInside = 8;
  boost::container::small_vector<std::uint32_t, kInside> kernels_;
};

}  // namespace dfsearch
