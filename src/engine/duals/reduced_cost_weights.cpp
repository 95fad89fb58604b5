// Completion bounds, as in resource-constrained shortest paths: dynamic programming from the last
// kernel to the first, as for a knapsack (Bellman 1957) whose items have a higher value beside
// others.  SRAM is counted in equal units, called rooms; the need of each kernel is rounded down,
// so the bound may be too high, but never too low.
//
// Tested against all completions: tests/engine/duals/completion_bound_test.cpp.

#include "engine/duals/reduced_cost_weights.hpp"

#include <bit>

// Only newer processors compare 64-bit integers in vectors, so the program selects a version when
// it starts. (This selection comes too early for the thread sanitizer.)
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define DFSEARCH_FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define DFSEARCH_FOR_EACH_PROCESSOR
#endif

namespace dfsearch {
namespace {

/// The sum, if it is below the limit; else the limit.
std::int64_t sum_within(std::int64_t limit, std::int64_t a, std::int64_t b) {
  return b < limit - a ? a + b : limit;
}

// About the most numbers that all bounds have together.  More rooms than kMostRooms hardly tighten
// a bound.
constexpr std::size_t kNumbers = std::size_t{1} << 22;
constexpr std::size_t kMostRooms = 48;
// Stands for minus infinity: sums with it stay below every possible value, and differences do not
// overflow.
constexpr std::int64_t kImpossible = -ReducedCostWeights::kGreatest;

/// Number of rows of a step: one for each pattern of bits up to the highest bit of its frontier.
std::size_t rows(const DecompositionStep& step) {
  return std::size_t{1} << static_cast<unsigned>(std::bit_width(step.present));
}

/// Raises each number to its counterpart in `others` plus `more`, if that is higher.
void raise(std::int64_t* numbers, const std::int64_t* others, std::size_t count,
           std::int64_t more) {
  for (std::size_t i = 0; i < count; ++i) numbers[i] = std::max(numbers[i], others[i] + more);
}

/// Fills the numbers from the last step to the first; `begins` has the first number of each step.
DFSEARCH_FOR_EACH_PROCESSOR
void find_numbers(const PathDecomposition& path, const ReducedCostWeights& weights, double sram,
                  std::size_t rooms, double rooms_of_byte, const std::vector<std::size_t>& begins,
                  std::int64_t* numbers) {
  const std::size_t width = rooms + 1;
  for (std::size_t s = path.steps.size(); s-- > 0;) {
    const DecompositionStep& step = path.steps[s];
    const auto later = [&](std::uint32_t frontier, bool inside) {
      return numbers + begins[s + 1] + step.after(frontier, inside) * width;
    };
    for (std::uint32_t frontier = 0;; frontier = (frontier - step.present) & step.present) {
      std::int64_t* const most = numbers + begins[s] + frontier * width;
      const std::int64_t less = weights.memory * step.crossing(frontier, false);
      const std::int64_t* const without = later(frontier, false);
      for (std::size_t room = 0; room < width; ++room) {
        most[room] = std::max(without[room] - less, kImpossible);
      }
      const double needed = step.sram_inside(frontier);
      if (needed <= sram) {
        const std::int64_t more =
            weights.kernels[s] - weights.memory * step.crossing(frontier, true);
        const std::int64_t* const with = later(frontier, true);
        if (needed >= 0.0) {
          const auto taken = static_cast<std::size_t>(needed * rooms_of_byte);
          raise(most + taken, with, width - taken, more);
        } else {
          // Only for kernels that free SRAM.  The model has no such kernels, since a fused buffer
          // is no smaller than a streamed one.
          const auto back = static_cast<std::size_t>(-needed * rooms_of_byte + 1.0);
          const std::size_t shifted = width - std::min(width, back);
          raise(most, with + back, shifted, more);
          for (std::size_t room = shifted; room < width; ++room) {
            most[room] = std::max(most[room], with[rooms] + more);
          }
        }
      }
      if (frontier == step.present) break;
    }
  }
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

std::size_t CompletionBound::states(const PathDecomposition& path) {
  std::size_t sum = 1;
  for (const DecompositionStep& step : path.steps) sum += rows(step);
  return sum;
}

std::size_t CompletionBound::rooms(std::size_t states, std::size_t bounds) {
  return std::clamp(kNumbers / (states * bounds), std::size_t{2}, kMostRooms + 1) - 1;
}

void CompletionBound::find(const PathDecomposition& path, const ReducedCostWeights& weights,
                           double sram, std::size_t rooms) {
  rooms_ = rooms;
  rooms_of_byte_ = static_cast<double>(rooms) / std::max(sram, 1.0);
  const std::size_t width = rooms + 1;
  begins_.assign(1, 0);
  for (const DecompositionStep& step : path.steps) {
    begins_.push_back(begins_.back() + rows(step) * width);
  }
  // Rows of frontiers that never occur keep their old numbers.
  most_.resize(begins_.back() + width);
  std::fill(most_.begin() + static_cast<std::ptrdiff_t>(begins_.back()), most_.end(), 0);
  find_numbers(path, weights, sram, rooms, rooms_of_byte_, begins_, most_.data());
}

}  // namespace dfsearch
