// Completion bounds, as in resource-constrained shortest paths: dynamic programming from the last
// kernel to the first, as for a knapsack (Bellman 1957) whose items have a higher value beside
// others. The SRAM of a kernel is rounded down to rooms, so the bound may be too high, not too low.
//
// Against all completions: tests/engine/duals/completion_bound_test.cpp.

#include "engine/duals/completion_bound.hpp"

#include <algorithm>
#include <bit>

// Whole numbers of 64 bits are compared several at a time by newer processors alone: the program
// chooses when it starts.  (Such a choice comes too early for the thread sanitizer.)
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define DFSEARCH_FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define DFSEARCH_FOR_EACH_PROCESSOR
#endif

namespace dfsearch {
namespace {

// Numbers of all bounds together.  More rooms than kMostRooms hardly tighten a bound.
constexpr std::size_t kNumbers = std::size_t{1} << 22;
constexpr std::size_t kMostRooms = 48;
// Minus infinity.  Whatever is added to it, it stays below every possible value; whatever is
// subtracted from it, it does not overflow.
constexpr std::int64_t kImpossible = -ReducedCostWeights::kGreatest;

/// Bits of the frontier that the step meets are low ones: rows are counted by them.
std::size_t rows(const DecompositionStep& step) {
  return std::size_t{1} << static_cast<unsigned>(std::bit_width(step.present));
}

/// Raises each number to its counterpart in `others` plus `more`, if that is higher.
void raise(std::int64_t* numbers, const std::int64_t* others, std::size_t count,
           std::int64_t more) {
  for (std::size_t i = 0; i < count; ++i) numbers[i] = std::max(numbers[i], others[i] + more);
}

/// Fills the numbers from the last step to the first; `begins` are the beginnings of the steps'
/// rows.
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
          // Buffers that two kernels share give some back.
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
