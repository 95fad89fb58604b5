#pragma once
// Reduced cost of each kernel under each part of the time and convex mixtures of two.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/duals/completion_bound.hpp"
#include "engine/duals/duals.hpp"
#include "engine/duals/path_decomposition.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

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
