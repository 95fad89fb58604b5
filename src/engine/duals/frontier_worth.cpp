#include "engine/duals/frontier_worth.hpp"

namespace dfsearch {
namespace {

/// With all that may cross.
Ticks most_memory(const FrontierStep& step) {
  Ticks memory = step.memory;
  for (const FrontierStep::Link& link : step.links) memory += 2 * link.transfer;
  return memory;
}

}  // namespace

std::vector<std::size_t> timed_parts(const FusionTables& tables, const FrontierPlan& plan) {
  std::array<bool, std::tuple_size_v<KernelParts>> takes_time{};
  for (const FrontierStep& step : plan.steps) {
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

FrontierGains::FrontierGains(const FusionTables& tables, const FrontierPlan& plan,
                             const Duals& duals) {
  const Overlap overlap = tables.problem().execution.overlap;
  for (const FrontierStep& step : plan.steps) {
    const KernelCosts& kernel = tables.kernel(step.kernel);
    const KernelParts own = parts(overlap, kernel.compute, kernel.network, step.memory);
    FrontierExcess& gains = of_steps.emplace_back();
    for (std::size_t r = 0; r < own.size(); ++r) {
      gains[r] = duals.kernels[step.kernel] - own[r] * kFinePerTick;
    }
  }
  const KernelParts of_tick = parts(overlap, 0, 0, 1);
  for (std::size_t r = 0; r < of_tick.size(); ++r) memory[r] = of_tick[r] * kFinePerTick;
}

FrontierWorth FrontierGains::worth(const FrontierShares& shares,
                                   const std::vector<std::size_t>& timed) const {
  FrontierWorth worth;
  for (const FrontierExcess& gains : of_steps) {
    double own = 0.0;
    for (const std::size_t r : timed) own += shares[r] * static_cast<double>(gains[r]);
    worth.kernels.push_back(own);
  }
  for (const std::size_t r : timed) worth.memory += shares[r] * static_cast<double>(memory[r]);
  return worth;
}

std::vector<FrontierShares> part_mixtures(const std::vector<std::size_t>& timed, int whole) {
  std::vector<FrontierShares> mixtures;
  for (std::size_t i = 0; i < timed.size(); ++i) {
    mixtures.emplace_back()[timed[i]] = 1.0;
    for (std::size_t j = 0; j < i; ++j) {
      for (int share = 1; share < whole; ++share) {
        FrontierShares& mixture = mixtures.emplace_back();
        mixture[timed[i]] = static_cast<double>(share) / whole;
        mixture[timed[j]] = static_cast<double>(whole - share) / whole;
      }
    }
  }
  return mixtures;
}

PromisedMixture::PromisedMixture(const FrontierShares& shares, const FrontierPromise& promise)
    : promise_(&promise) {
  std::size_t count = 0;
  for (std::size_t r = 0; r < shares.size(); ++r) {
    if (shares[r] == 0.0) continue;
    parts_.at(count) = r;
    shares_.at(count++) = shares[r];
  }
}

/// Less than 2^7 roundings for each kernel, of numbers below the sum of all.
FineTicks frontier_noise(const FusionTables& tables, const FrontierPlan& plan, const Duals& duals,
                         std::size_t group) {
  FineTicks sum = 0;
  FineTicks all = 0;
  for (const FrontierStep& step : plan.steps) {
    const KernelCosts& kernel = tables.kernel(step.kernel);
    all += (kernel.compute + kernel.network + most_memory(step)) * kFinePerTick;
    sum += duals.kernels[step.kernel] >> 31;
  }
  const auto kernels = static_cast<FineTicks>(plan.steps.size());
  return (sum + (all >> 31) + (duals.charge[group] >> 31)) * (1 + kernels / 4096) + 4 * kernels +
         64;
}

double about_sram(const FusionTables& tables) {
  constexpr double kMore = 1.0 + 0x1p-40;
  return tables.sram().in_base_units() * kMore;
}

}  // namespace dfsearch
