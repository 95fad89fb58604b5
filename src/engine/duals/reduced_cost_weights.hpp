#pragma once
// Reduced cost of each kernel under each part of the time and convex mixtures of two.
// The completion bound is an upper bound on the sum that undecided kernels can add to a set.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/duals/duals.hpp"
#include "engine/duals/path_decomposition.hpp"
#include "engine/tables/fusion_tables.hpp"

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

/// Duals of a set less each part of its time, in fine ticks.
using PartExcess = std::array<FineTicks, std::tuple_size_v<KernelParts>>;
/// Share of each part in a mixture, in quarters: if they sum up to one, it is no more than the
/// longest part.  Sums by them are counted in quarters of fine ticks, so that nothing is rounded.
using PartShares = std::array<std::int64_t, std::tuple_size_v<KernelParts>>;
inline constexpr std::int64_t kQuarters = 4;
/// Limit of all excess that may be added up, either way.
inline constexpr FineTicks kGreatestExcess = ReducedCostWeights::kGreatest / kQuarters;
/// Excess of a part that does not matter, as another one stays below: greater than all others.
inline constexpr FineTicks kNoMatter = 2 * kGreatestExcess;

/// The parts that take any time, one at least.
[[nodiscard]] std::vector<std::size_t> timed_parts(const FusionTables& tables,
                                                   const PathDecomposition& path);

/// Excess that the steps of a path add to a set.
struct ReducedCosts {
  ReducedCosts(const FusionTables& tables, const PathDecomposition& path, const Duals& duals);

  std::vector<PartExcess> of_steps;  ///< of each step's kernel, tensors to others aside
  PartExcess memory{};               ///< taken from each part by a tick of memory
  /// Whether all excess is below kGreatestExcess, either way; else there must be no sums of it.
  bool adds_up = false;

  /// A sum of excesses by these shares of the parts that take time.
  [[nodiscard]] ReducedCostWeights weights(const PartShares& shares,
                                           const std::vector<std::size_t>& timed) const;
};

/// Returns each part alone and mixtures of any two whose shares are multiples of `step` quarters.
[[nodiscard]] std::vector<PartShares> part_mixtures(const std::vector<std::size_t>& timed,
                                                    std::int64_t step);

/// Such a mixture of the excesses of a partial set with its completion bound: no completion exceeds
/// it.  Refers to the bound.
class BoundedMixture {
 public:
  BoundedMixture(const PartShares& shares, const CompletionBound& bound);

  /// Whether no part of it was forgotten.
  [[nodiscard]] bool matters(const PartExcess& excess) const {
    return excess[parts_[0]] != kNoMatter && excess[parts_[1]] != kNoMatter;
  }
  /// In quarters of fine ticks, if it matters.
  [[nodiscard]] std::int64_t most(const PartExcess& excess, std::size_t place) const {
    return bound_->most(place) + shares_[0] * excess[parts_[0]] + shares_[1] * excess[parts_[1]];
  }

 private:
  std::array<std::size_t, 2> parts_{};
  std::array<std::int64_t, 2> shares_{};
  const CompletionBound* bound_;
};

[[nodiscard]] Ticks most_memory(const DecompositionStep& step);

/// SRAM capacity in bytes times (1 + 2^-40), so that rounded sums never reject a set that fits.
[[nodiscard]] double about_sram(const FusionTables& tables);

}  // namespace dfsearch
