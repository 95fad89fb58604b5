#pragma once
// Pairs of loops that a tensor group divides, one loop for each axis of the group, and sets of such
// pairs: the shardings that are still open for a kernel.

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/kernel.hpp"

namespace dfsearch {

inline constexpr std::size_t kLoops = 5;
/// Axes of a tensor group: one, or two where its chips form a grid.
inline constexpr std::size_t kTensorAxes = 2;
inline constexpr std::size_t kLoopPairs = kLoops * kLoops;

/// Ordered as equally good shardings are preferred: pairs that do not divide the second axis come
/// first, in the order of `Loop`.
struct LoopPair {
  std::array<Loop, kTensorAxes> loops{Loop::None, Loop::None};  ///< by axis

  constexpr LoopPair() = default;
  // A loop is divided along the first axis.  NOLINTNEXTLINE(google-explicit-constructor)
  constexpr LoopPair(Loop first, Loop second = Loop::None) : loops{first, second} {}
  static constexpr LoopPair at(std::size_t index) {
    return {static_cast<Loop>(index % kLoops), static_cast<Loop>(index / kLoops)};
  }

  [[nodiscard]] constexpr std::size_t index() const {
    return static_cast<std::size_t>(loops[1]) * kLoops + static_cast<std::size_t>(loops[0]);
  }
  [[nodiscard]] constexpr bool has(Loop loop) const { return loops[0] == loop || loops[1] == loop; }
  /// Whether no loop is divided along the second axis.
  [[nodiscard]] constexpr bool is_single() const { return loops[1] == Loop::None; }

  friend constexpr bool operator==(LoopPair, LoopPair) = default;
  friend constexpr std::strong_ordering operator<=>(LoopPair a, LoopPair b) {
    return a.index() <=> b.index();
  }
};

/// The names of all pairs, by index: `M/N` is M along the first axis and N along the second, `M` is
/// M along the first axis alone.
inline const std::array<std::string, kLoopPairs>& loop_pair_names() {
  static const auto names = [] {
    std::array<std::string, kLoopPairs> all;
    for (std::size_t i = 0; i < kLoopPairs; ++i) {
      const auto [first, second] = LoopPair::at(i).loops;
      all[i] = name_of(first);
      if (second != Loop::None) all[i] += std::string("/") + name_of(second);
    }
    return all;
  }();
  return names;
}
inline std::string name_of(LoopPair loops) { return loop_pair_names()[loops.index()]; }

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

/// The loops that each kernel of a graph may shard.
using LoopSets = std::vector<LoopSet>;

inline LoopSets loop_sets(const std::vector<LoopPair>& sharding) {
  return {sharding.begin(), sharding.end()};
}

}  // namespace dfsearch
