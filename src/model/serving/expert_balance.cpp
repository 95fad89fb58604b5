#include "model/serving/expert_balance.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

namespace dfsearch::serving {
namespace {

constexpr double kGolden = 0.382;

}  // namespace

double expert_imbalance(std::int64_t count, std::int64_t ranks, std::int64_t copies,
                        double exponent) {
  // Places of popular experts: steps of about the golden section, which reach every place once.
  std::int64_t step = static_cast<std::int64_t>(kGolden * static_cast<double>(count)) | 1;
  while (std::gcd(step, count) != 1) step += 2;
  std::vector<double> load(static_cast<std::size_t>(count));
  for (std::int64_t k = 0; k < count; ++k) {
    load[static_cast<std::size_t>(k * step % count)] =
        std::pow(static_cast<double>(k + 1), -exponent);
  }
  const double sum = std::accumulate(load.begin(), load.end(), 0.0);
  const auto room = static_cast<std::size_t>((count + copies) / ranks);
  std::vector<double> of_rank(static_cast<std::size_t>(ranks));
  if (copies == 0) {
    for (std::size_t k = 0; k < load.size(); ++k) of_rank[k / room] += load[k];
  } else {
    // The expert with the most load for each copy first; ties go to the first expert.
    std::priority_queue<std::pair<double, std::ptrdiff_t>> fullest;
    std::vector<double> slots(load.size(), 1.0);
    for (std::size_t k = 0; k < load.size(); ++k) {
      fullest.emplace(load[k], -static_cast<std::ptrdiff_t>(k));
    }
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      const auto expert = static_cast<std::size_t>(-fullest.top().second);
      fullest.pop();
      ++slots[expert];
      fullest.emplace(load[expert] / slots[expert], -static_cast<std::ptrdiff_t>(expert));
    }
    using Rank = std::pair<double, std::size_t>;
    std::priority_queue<Rank, std::vector<Rank>, std::greater<>> least;
    for (std::size_t rank = 0; rank < of_rank.size(); ++rank) least.emplace(0.0, rank);
    std::vector<std::size_t> held(of_rank.size());
    std::vector<double> parts;
    for (std::size_t k = 0; k < load.size(); ++k) {
      parts.insert(parts.end(), static_cast<std::size_t>(slots[k]), load[k] / slots[k]);
    }
    std::sort(parts.begin(), parts.end(), std::greater<>());
    for (const double part : parts) {
      const auto [before, rank] = least.top();
      least.pop();
      of_rank[rank] = before + part;
      if (++held[rank] < room) least.emplace(of_rank[rank], rank);
    }
  }
  const double most = *std::max_element(of_rank.begin(), of_rank.end());
  return std::max(most * static_cast<double>(ranks) / sum, 1.0);
}

double chance_of_ranks(std::int64_t ranks) {
  return std::sqrt(2.0 * std::log(static_cast<double>(ranks)));
}

}  // namespace dfsearch::serving
