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

/// Weights of the kernels of a set, and the charge for tensors that cross its border.  The value of
/// a set is the sum of its kernels' weights minus these charges, in any unit.
struct ReducedCostWeights {
  std::vector<std::int64_t> kernels;  ///< of the kernel of each step
  std::int64_t memory = 0;            ///< cost of a tick of memory time

  /// Exceeds the sum of all weights of kernels and the charges of all tensors.
  static constexpr std::int64_t kGreatest = std::int64_t{1} << 62;
};

/// The greatest amount that later decisions can add to the value of a set.  It depends on the step,
/// on the kernels of the frontier that are inside and on the SRAM that is left, counted in rooms of
/// equal size (docs/duals.md, section 4).
class CompletionBound {
 public:
  /// Replaces the previous bound and reuses its memory.  `sram` is in bytes, slightly more than the
  /// chip has (about_sram).
  void find(const PathDecomposition& path, const ReducedCostWeights& weights, double sram,
            std::size_t rooms);

  /// The bound from this step on with `left` bytes of SRAM, which are not negative.
  [[nodiscard]] std::int64_t most(std::size_t step, std::uint32_t frontier, double left) const {
    return most(place(step, frontier, left));
  }
  /// Index of this bound in the numbers; it is the same in all bounds of a path with equal `rooms`.
  [[nodiscard]] std::size_t place(std::size_t step, std::uint32_t frontier, double left) const {
    const auto room = std::min(rooms_, static_cast<std::size_t>(left * rooms_of_byte_));
    return begins_[step] + frontier * (rooms_ + 1) + room;
  }
  [[nodiscard]] std::int64_t most(std::size_t place) const { return most_[place]; }

  [[nodiscard]] std::size_t heap_bytes() const {
    return most_.capacity() * sizeof(std::int64_t) + begins_.capacity() * sizeof(std::size_t);
  }

  /// Number of states of the frontier over all steps.  A state has one number for 0 rooms left, one
  /// for 1 room, and so on.
  [[nodiscard]] static std::size_t states(const PathDecomposition& path);
  /// Greatest number of rooms for which this number of bounds with `states` states takes little
  /// memory.
  [[nodiscard]] static std::size_t rooms(std::size_t states, std::size_t bounds);

 private:
  std::size_t rooms_ = 0;
  double rooms_of_byte_ = 0.0;
  std::vector<std::size_t> begins_;  // first number of each step, and of the end
  std::vector<std::int64_t> most_;
};

/// Duals of a set less each part of its time, in fine ticks.
using PartExcess = std::array<FineTicks, std::tuple_size_v<KernelParts>>;
/// Share of each part in a mixture, in quarters.  A mixture whose shares sum up to four quarters is
/// no longer than the longest part.  Mixtures are counted in quarters of fine ticks, so that
/// nothing is rounded.
using PartShares = std::array<std::int64_t, std::tuple_size_v<KernelParts>>;
inline constexpr std::int64_t kQuarters = 4;
/// Limit on the absolute value of sums of excesses.
inline constexpr FineTicks kGreatestExcess = ReducedCostWeights::kGreatest / kQuarters;
/// Stands for the excess of a part that does not matter, since the excess of another part stays
/// below it.  It is greater than any other excess.
inline constexpr FineTicks kNoMatter = 2 * kGreatestExcess;

/// The parts that take any time, one at least.
[[nodiscard]] std::vector<std::size_t> timed_parts(const FusionTables& tables,
                                                   const PathDecomposition& path);

/// Excess that the steps of a path add to a set.
struct ReducedCosts {
  ReducedCosts(const FusionTables& tables, const PathDecomposition& path, const Duals& duals);

  std::vector<PartExcess> of_steps;  ///< of each step's kernel, without tensors within the path
  PartExcess memory{};               ///< excess that each part loses by a tick of memory time
  /// Whether all excesses are below kGreatestExcess in absolute value; otherwise they must not be
  /// added up.
  bool adds_up = false;

  /// The weights of the excesses mixed by these shares; only the parts in `timed` count.
  [[nodiscard]] ReducedCostWeights weights(const PartShares& shares,
                                           const std::vector<std::size_t>& timed) const;
};

/// Returns each part alone and mixtures of any two whose shares are multiples of `step` quarters.
[[nodiscard]] std::vector<PartShares> part_mixtures(const std::vector<std::size_t>& timed,
                                                    std::int64_t step);

/// The mixed excesses of a partial set plus the completion bound of the mixture.  The sum is an
/// upper bound on the excess of all completions.  Refers to the bound.
class BoundedMixture {
 public:
  BoundedMixture(const PartShares& shares, const CompletionBound& bound);

  /// Whether all parts of the mixture matter for this excess.
  [[nodiscard]] bool matters(const PartExcess& excess) const {
    return excess[parts_[0]] != kNoMatter && excess[parts_[1]] != kNoMatter;
  }
  /// The upper bound, in quarters of fine ticks; requires `matters`.
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
