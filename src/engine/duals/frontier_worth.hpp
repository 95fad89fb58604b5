#pragma once
// What the kernels of a plan are worth to a set by each part of its time, and by mixtures of these.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/duals/duals.hpp"
#include "engine/duals/frontier_plan.hpp"
#include "engine/duals/frontier_promise.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// By each part of the time: duals of a set less that part, in fine ticks.
using FrontierExcess = std::array<FineTicks, std::tuple_size_v<KernelParts>>;
/// Of each part in a mixture, in quarters: if they sum up to one, it is no more than the longest
/// part.  What it is worth is counted in quarters of fine ticks, so that nothing is rounded.
using FrontierShares = std::array<std::int64_t, std::tuple_size_v<KernelParts>>;
inline constexpr std::int64_t kQuarters = 4;
/// Of all excess that may be added up, either way, it is below this.
inline constexpr FineTicks kGreatestExcess = FrontierWorth::kGreatest / kQuarters;
/// Of a part that does not matter, as another one stays below: greater than all others.
inline constexpr FineTicks kNoMatter = 2 * kGreatestExcess;

/// The parts that take any time, one at least.
[[nodiscard]] std::vector<std::size_t> timed_parts(const FusionTables& tables,
                                                   const FrontierPlan& plan);

/// What the steps of a plan add to the excess of a set.
struct FrontierGains {
  FrontierGains(const FusionTables& tables, const FrontierPlan& plan, const Duals& duals);

  std::vector<FrontierExcess> of_steps;  ///< of each step's kernel, tensors to others aside
  FrontierExcess memory{};               ///< what a tick of memory takes of each part
  /// Whether all excess is below kGreatestExcess, either way; else there must be no sums of it.
  bool adds_up = false;

  /// A sum of excesses by these shares of the parts that take time.
  [[nodiscard]] FrontierWorth worth(const FrontierShares& shares,
                                    const std::vector<std::size_t>& timed) const;
};

/// Each part by itself, and of any two some mixtures, in steps of so many quarters.
[[nodiscard]] std::vector<FrontierShares> part_mixtures(const std::vector<std::size_t>& timed,
                                                        std::int64_t step);

/// Such a mixture of the excesses of a partial set and of what is promised to it: no way to go on
/// exceeds it.  Refers to the promise.
class PromisedMixture {
 public:
  PromisedMixture(const FrontierShares& shares, const FrontierPromise& promise);

  /// Whether no part of it was forgotten.
  [[nodiscard]] bool matters(const FrontierExcess& excess) const {
    return excess[parts_[0]] != kNoMatter && excess[parts_[1]] != kNoMatter;
  }
  /// In quarters of fine ticks, if it matters.
  [[nodiscard]] std::int64_t most(const FrontierExcess& excess, std::size_t place) const {
    return promise_->most(place) + shares_[0] * excess[parts_[0]] + shares_[1] * excess[parts_[1]];
  }

 private:
  std::array<std::size_t, 2> parts_{};
  std::array<std::int64_t, 2> shares_{};
  const FrontierPromise* promise_;
};

/// With all that may cross.
[[nodiscard]] Ticks most_memory(const FrontierStep& step);

/// SRAM that is a little more than there is, in bytes: sums of bytes are rounded in any order.
[[nodiscard]] double about_sram(const FusionTables& tables);

}  // namespace dfsearch
