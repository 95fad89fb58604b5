#pragma once
// Sets of pairs of loops: the shardings that are still open for a kernel.

#include <bit>
#include <cstdint>
#include <vector>

#include "graph/loop_pair.hpp"

namespace dfsearch {

/// A set of pairs as a bit mask; iterates in the order of `LoopPair`.
class LoopSet {
 public:
  constexpr LoopSet() = default;
  // A pair is the set of itself.  NOLINTNEXTLINE(google-explicit-constructor)
  constexpr LoopSet(LoopPair loop) : bits_(bit(loop)) {}
  constexpr LoopSet(Loop loop) : LoopSet(LoopPair(loop)) {}  // NOLINT(google-explicit-constructor)

  constexpr void insert(LoopPair loop) { bits_ |= bit(loop); }
  constexpr void erase(LoopPair loop) { bits_ &= ~bit(loop); }
  [[nodiscard]] constexpr bool contains(LoopPair loop) const { return (bits_ & bit(loop)) != 0; }
  [[nodiscard]] constexpr int size() const { return std::popcount(bits_); }
  /// The first pair; the set is not empty.
  [[nodiscard]] constexpr LoopPair front() const { return pair_at(std::countr_zero(bits_)); }

  /// The last pair; the set is not empty.
  [[nodiscard]] constexpr LoopPair back() const {
    return pair_at(static_cast<int>(std::bit_width(bits_)) - 1);
  }

  class Iterator {
   public:
    constexpr explicit Iterator(std::uint32_t bits) : bits_(bits) {}
    constexpr LoopPair operator*() const { return pair_at(std::countr_zero(bits_)); }
    constexpr Iterator& operator++() {
      bits_ &= bits_ - 1;
      return *this;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    std::uint32_t bits_;
  };
  [[nodiscard]] constexpr Iterator begin() const { return Iterator(bits_); }
  [[nodiscard]] constexpr Iterator end() const { return Iterator(0); }  // NOLINT

  friend constexpr auto operator<=>(LoopSet, LoopSet) = default;

 private:
  static constexpr std::uint32_t bit(LoopPair loop) { return std::uint32_t{1} << loop.index(); }
  static constexpr LoopPair pair_at(int bit) { return LoopPair::at(static_cast<std::size_t>(bit)); }

  std::uint32_t bits_ = 0;
};

/// What each kernel of a graph may shard.
using LoopSets = std::vector<LoopSet>;

/// The sets of one pair each.
inline LoopSets loop_sets(const std::vector<LoopPair>& sharding) {
  return {sharding.begin(), sharding.end()};
}

}  // namespace dfsearch
