#pragma once
// Sets of loops: the shardings that are still open for a kernel.

#include <bit>
#include <cstdint>
#include <vector>

#include "graph/kernel.hpp"

namespace dfsearch {

/// A set of loops as a bit mask; iterates in the order of `Loop`.
class LoopSet {
 public:
  constexpr LoopSet() = default;
  // A loop is the set of itself.  NOLINTNEXTLINE(google-explicit-constructor)
  constexpr LoopSet(Loop loop) : bits_(bit(loop)) {}

  constexpr void insert(Loop loop) { bits_ = static_cast<std::uint8_t>(bits_ | bit(loop)); }
  constexpr void erase(Loop loop) { bits_ = static_cast<std::uint8_t>(bits_ & ~bit(loop)); }
  [[nodiscard]] constexpr bool contains(Loop loop) const { return (bits_ & bit(loop)) != 0; }
  [[nodiscard]] constexpr int size() const { return std::popcount(bits_); }
  /// The first loop; the set is not empty.
  [[nodiscard]] constexpr Loop front() const { return static_cast<Loop>(std::countr_zero(bits_)); }

  /// The last loop; the set is not empty.
  [[nodiscard]] constexpr Loop back() const { return static_cast<Loop>(std::bit_width(bits_) - 1); }

  class Iterator {
   public:
    constexpr explicit Iterator(std::uint8_t bits) : bits_(bits) {}
    constexpr Loop operator*() const { return static_cast<Loop>(std::countr_zero(bits_)); }
    constexpr Iterator& operator++() {
      bits_ = static_cast<std::uint8_t>(bits_ & (bits_ - 1));
      return *this;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    std::uint8_t bits_;
  };
  [[nodiscard]] constexpr Iterator begin() const { return Iterator(bits_); }
  [[nodiscard]] constexpr Iterator end() const { return Iterator(0); }  // NOLINT

  friend constexpr auto operator<=>(LoopSet, LoopSet) = default;

 private:
  static constexpr std::uint8_t bit(Loop loop) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(loop));
  }
  std::uint8_t bits_ = 0;
};

/// What each kernel of a graph may shard.
using LoopSets = std::vector<LoopSet>;

/// The sets of one loop each.
inline LoopSets loop_sets(const std::vector<Loop>& sharding) {
  return {sharding.begin(), sharding.end()};
}

}  // namespace dfsearch
