#pragma once
// Upper bound on the reduced cost that undecided kernels can add to a set.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/duals/path_decomposition.hpp"

namespace dfsearch {

/// Weights of a sum over the kernels of a set, less a charge for each tensor that crosses its
/// border, in any unit.
struct ReducedCostWeights {
  std::vector<std::int64_t> kernels;  ///< of the kernel of each step
  std::int64_t memory = 0;            ///< cost of a tick of memory time

  /// Limit above the sum of all weights of kernels and the charges of all tensors.
  static constexpr std::int64_t kGreatest = std::int64_t{1} << 62;
};

/// The most that later decisions add to such a sum, by the step, by the kernels of the frontier
/// that are inside and by the SRAM that is left, in rooms of equal size (docs/duals.md, section 4).
class CompletionBound {
 public:
  /// Forgets the sum of before, but not its room.  `sram` is in bytes and a little more than there
  /// is, as bytes of sets are rounded.
  void find(const PathDecomposition& path, const ReducedCostWeights& weights, double sram,
            std::size_t rooms);

  /// From this step on, when as much SRAM is left, not less than none.
  [[nodiscard]] std::int64_t most(std::size_t step, std::uint32_t frontier, double left) const {
    return most(place(step, frontier, left));
  }
  /// Place of that number: all bounds of a path with equally many rooms have the same places.
  [[nodiscard]] std::size_t place(std::size_t step, std::uint32_t frontier, double left) const {
    const auto room = std::min(rooms_, static_cast<std::size_t>(left * rooms_of_byte_));
    return begins_[step] + frontier * (rooms_ + 1) + room;
  }
  [[nodiscard]] std::int64_t most(std::size_t place) const { return most_[place]; }

  [[nodiscard]] std::size_t heap_bytes() const {
    return most_.capacity() * sizeof(std::int64_t) + begins_.capacity() * sizeof(std::size_t);
  }

  /// How many states of the frontier there are, over all steps: for each there is a number for each
  /// room, and one.
  [[nodiscard]] static std::size_t states(const PathDecomposition& path);
  /// Number of rooms for which these bounds, with these states in all, do not take much memory.
  [[nodiscard]] static std::size_t rooms(std::size_t states, std::size_t bounds);

 private:
  std::size_t rooms_ = 0;
  double rooms_of_byte_ = 0.0;
  std::vector<std::size_t> begins_;  // of the steps, and of the end
  std::vector<std::int64_t> most_;
};

}  // namespace dfsearch
