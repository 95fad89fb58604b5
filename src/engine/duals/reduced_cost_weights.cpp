#include "engine/duals/reduced_cost_weights.hpp"

namespace dfsearch {
namespace {

/// The sum, if it is below the limit; else the limit.
std::int64_t sum_within(std::int64_t limit, std::int64_t a, std::int64_t b) {
  return b < limit - a ? a + b : limit;
}

}  // namespace

Ticks most_memory(const DecompositionStep& step) {
  Ticks memory = step.memory;
  for (const DecompositionStep::Link& link : step.links) {
    memory += link.transfer + link.opposite;
  }
  return memory;
}

std::vector<std::size_t> timed_parts(const FusionTables& tables, const PathDecomposition& path) {
  std::array<bool, std::tuple_size_v<KernelParts>> takes_time{};
  for (const DecompositionStep& step : path.steps) {
    const KernelCosts& kernel = tables.kernel(step.kernel);
    const KernelParts own = parts(tables.problem().execution.overlap, kernel.compute,
                                  kernel.network, most_memory(step));
    for (std::size_t r = 0; r < own.size(); ++r) takes_time[r] = takes_time[r] || own[r] > 0;
  }
  std::vector<std::size_t> timed;
  for (std::size_t r = 0; r < takes_time.size(); ++r) {
    if (takes_time[r]) timed.push_back(r);
  }
  if (timed.empty()) timed.push_back(0);
  return timed;
}

ReducedCosts::ReducedCosts(const FusionTables& tables, const PathDecomposition& path,
                           const Duals& duals) {
  const Overlap overlap = tables.problem().execution.overlap;
  for (const DecompositionStep& step : path.steps) {
    const KernelCosts& kernel = tables.kernel(step.kernel);
    const KernelParts own = parts(overlap, kernel.compute, kernel.network, step.memory);
    PartExcess& gains = of_steps.emplace_back();
    for (std::size_t r = 0; r < own.size(); ++r) {
      gains[r] = duals.kernels[step.kernel] - own[r] * kFinePerTick;
    }
  }
  const KernelParts of_tick = parts(overlap, 0, 0, 1);
  for (std::size_t r = 0; r < of_tick.size(); ++r) memory[r] = of_tick[r] * kFinePerTick;
  constexpr Ticks kMostTicks = kGreatestExcess / kFinePerTick;
  FineTicks all_duals = 0;
  Ticks all_ticks = 0;
  for (const DecompositionStep& step : path.steps) {
    const KernelCosts& kernel = tables.kernel(step.kernel);
    for (const Ticks part : {kernel.compute, kernel.network, most_memory(step)}) {
      all_ticks = sum_within(kMostTicks, all_ticks, part);
    }
    all_duals = sum_within(kGreatestExcess, all_duals, duals.kernels[step.kernel]);
  }
  adds_up = all_duals < kGreatestExcess && all_ticks < kMostTicks;
}

ReducedCostWeights ReducedCosts::weights(const PartShares& shares,
                                         const std::vector<std::size_t>& timed) const {
  ReducedCostWeights weights;
  for (const PartExcess& gains : of_steps) {
    std::int64_t own = 0;
    for (const std::size_t r : timed) own += shares[r] * gains[r];
    weights.kernels.push_back(own);
  }
  for (const std::size_t r : timed) weights.memory += shares[r] * memory[r];
  return weights;
}

std::vector<PartShares> part_mixtures(const std::vector<std::size_t>& timed, std::int64_t step) {
  std::vector<PartShares> mixtures;
  for (std::size_t i = 0; i < timed.size(); ++i) {
    mixtures.emplace_back()[timed[i]] = kQuarters;
    for (std::size_t j = 0; j < i; ++j) {
      for (std::int64_t share = step; share < kQuarters; share += step) {
        PartShares& mixture = mixtures.emplace_back();
        mixture[timed[i]] = share;
        mixture[timed[j]] = kQuarters - share;
      }
    }
  }
  return mixtures;
}

BoundedMixture::BoundedMixture(const PartShares& shares, const CompletionBound& bound)
    : bound_(&bound) {
  std::size_t count = 0;
  for (std::size_t r = 0; r < shares.size(); ++r) {
    if (shares[r] == 0) continue;
    if (count == 0) parts_.fill(r);
    parts_.at(count) = r;
    shares_.at(count++) = shares[r];
  }
}

double about_sram(const FusionTables& tables) {
  constexpr double kMore = 1.0 + 0x1p-40;
  return tables.sram().in_base_units() * kMore;
}

}  // namespace dfsearch
