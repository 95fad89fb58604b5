#pragma once
// What the kernels of a plan are worth to a set by each part of its time, and by mixtures of these.

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "engine/duals/duals.hpp"
#include "engine/duals/frontier_plan.hpp"
#include "engine/duals/frontier_promise.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// By each part of the time: duals of a set less that part, in fine ticks.
using FrontierExcess = std::array<FineTicks, std::tuple_size_v<KernelParts>>;
/// Of a part that does not matter, as another one stays below: greater than all others.
inline constexpr FineTicks kNoMatter = std::numeric_limits<FineTicks>::max() / 2;
/// Of each part in a mixture: if they sum up to one, it is no more than the longest part.
using FrontierShares = std::array<double, std::tuple_size_v<KernelParts>>;

/// The parts that take any time, one at least.
[[nodiscard]] std::vector<std::size_t> timed_parts(const FusionTables& tables,
                                                   const FrontierPlan& plan);

/// What the steps of a plan add to the excess of a set.
struct FrontierGains {
  FrontierGains(const FusionTables& tables, const FrontierPlan& plan, const Duals& duals);

  std::vector<FrontierExcess> of_steps;  ///< of each step's kernel, tensors to others aside
  FrontierExcess memory{};               ///< what a tick of memory takes of each part

  /// A sum of excesses by these shares of the parts that take time.
  [[nodiscard]] FrontierWorth worth(const FrontierShares& shares,
                                    const std::vector<std::size_t>& timed) const;
};

/// Each part by itself, and of any two some mixtures, in steps of a whole.
[[nodiscard]] std::vector<FrontierShares> part_mixtures(const std::vector<std::size_t>& timed,
                                                        int whole);

/// Such a mixture of the excesses of a partial set and of what is promised to it: no way to go on
/// exceeds it.  Refers to the promise.
class PromisedMixture {
 public:
  PromisedMixture(const FrontierShares& shares, const FrontierPromise& promise);

  [[nodiscard]] double most(const FrontierExcess& excess, std::size_t place) const {
    return promise_->most(place) + shares_[0] * static_cast<double>(excess[parts_[0]]) +
           shares_[1] * static_cast<double>(excess[parts_[1]]);
  }

 private:
  std::array<std::size_t, 2> parts_{};
  std::array<double, 2> shares_{};
  const FrontierPromise* promise_;
};

/// More than rounding may hide in sums of a plan's promises and gains.
[[nodiscard]] FineTicks frontier_noise(const FusionTables& tables, const FrontierPlan& plan,
                                       const Duals& duals, std::size_t group);

/// SRAM that is a little more than there is, in bytes: sums of bytes are rounded in any order.
[[nodiscard]] double about_sram(const FusionTables& tables);

}  // namespace dfsearch
