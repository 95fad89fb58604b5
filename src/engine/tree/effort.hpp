#pragma once
// The effort rule of the whole search: a bound or heuristic beside the tree may use at most a share
// of the work that the tree has used, in slices, and never blocks a node (docs/search.md, section
// 8).

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dfsearch {

/// Unit of the work of every part of the search: about one word of memory that is read or written.
/// Work is counted in the inner loops, so that it is a function of the problem on every machine.
using Work = std::int64_t;

/// A part of the search whose work is limited to a share of the work of the tree.
enum class Technique : std::uint8_t { Duals, Moves };

/// Work that a technique may use at one point of the search.
struct EffortRow {
  Technique technique;
  std::string_view name;  ///< as in `--no-bound`
  Work after;             ///< work of the tree before its first slice
  Work first_divisor;     ///< divisor of the tree's work for its share, until its first find
  Work divisor;           ///< the same after its first find
  Work slice;             ///< the least work of one slice
  std::string_view ends;  ///< when it is over
};

/// In the order of Technique.
inline constexpr std::array kEffortTable = {
    EffortRow{Technique::Duals, "duals", 4'000'000, 2, 2, 200'000, "once all duals are proved"},
    EffortRow{Technique::Moves, "moves", 16'000'000, 1, 4, 1'000'000, "after eight walks"},
};
/// The slices of one technique.  Any thread may claim one; only the thread with the claim works on
/// it.
class EffortSlices {
 public:
  explicit EffortSlices(Technique technique)
      : row_(kEffortTable[static_cast<std::size_t>(technique)]) {}

  /// Claims and returns the work that is due once the tree has used `tree`; 0: none is due, or
  /// another thread has the claim.
  [[nodiscard]] Work claim(Work tree) {
    if (due(tree) < row_.slice || is_claimed_.exchange(true, std::memory_order_acquire)) return 0;
    const Work work = due(tree);
    if (work >= row_.slice) return work;
    is_claimed_.store(false, std::memory_order_release);
    return 0;
  }
  /// Gives the claim back; the slice took this work.
  void release(Work spent) {
    used_.fetch_add(spent, std::memory_order_relaxed);
    is_claimed_.store(false, std::memory_order_release);
  }
  void found() { has_found_.store(true, std::memory_order_relaxed); }
  /// No slice is due any more.
  void end() { has_ended_.store(true, std::memory_order_relaxed); }

 private:
  [[nodiscard]] Work due(Work tree) const {
    if (tree < row_.after || has_ended_.load(std::memory_order_relaxed)) return 0;
    const bool has_found = has_found_.load(std::memory_order_relaxed);
    return tree / (has_found ? row_.divisor : row_.first_divisor) -
           used_.load(std::memory_order_relaxed);
  }

  const EffortRow& row_;
  std::atomic<bool> is_claimed_{false};
  std::atomic<bool> has_found_{false};
  std::atomic<bool> has_ended_{false};
  std::atomic<Work> used_{0};
};

}  // namespace dfsearch
