#include "technology/intensity.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace dfsearch {
namespace {

/// What a tile of a x b of the left and b x c of the right operand moves, with each of the three
/// operands staying until it is done with: the result, the left one, the right one.
void add_tile(const Shard& gemm, std::int64_t a, std::int64_t b, std::int64_t c,
              std::vector<double>& intensities) {
  const auto m = static_cast<double>(gemm.m);
  const auto k = static_cast<double>(gemm.k);
  const auto n = static_cast<double>(gemm.n);
  const double left = m * k * static_cast<double>(ceil_div(gemm.n, c));
  const double right = k * n * static_cast<double>(ceil_div(gemm.m, a));
  const double partial = m * n * (2.0 * static_cast<double>(ceil_div(gemm.k, b)) - 1.0);
  for (const double accesses :
       {m * n + left + right, m * k + right + partial, k * n + left + partial}) {
    intensities.push_back(2.0 * m * k * n / accesses);
  }
}

// docs/technology.md (22)
std::vector<double> intensities_of(const Shard& gemm, std::int64_t words) {
  std::vector<double> intensities;
  for (std::int64_t a = 1; a <= gemm.m && a < words; a *= 2) {
    for (std::int64_t b = 1; b <= gemm.k && a * b < words; b *= 2) {
      for (std::int64_t c = 1; c <= gemm.n && a * b + b * c + a * c <= words; c *= 2) {
        add_tile(gemm, a, b, c, intensities);
      }
    }
  }
  return intensities;
}

Quartiles quartiles_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  Quartiles quartiles{};
  for (std::size_t q = 0; q < quartiles.size(); ++q) {
    const double place = 0.25 * static_cast<double>(q) * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    quartiles[q] =
        values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
  }
  return quartiles;
}

}  // namespace

GemmIntensities gemm_intensities(const Shard& gemm, std::int64_t chips, std::int64_t words) {
  GemmIntensities result{.chips = chips, .all = {}, .strategies = {}};
  std::vector<double> all;
  const auto add = [&](std::string name, const Shard& shard) {
    std::vector<double> some = intensities_of(shard, words);
    all.insert(all.end(), some.begin(), some.end());
    result.strategies.push_back({std::move(name), quartiles_of(std::move(some))});
  };
  for (std::int64_t rows = 1; rows <= chips; ++rows) {
    if (chips % rows != 0) continue;
    const std::int64_t columns = chips / rows;
    add(fmt::format("RC-{}-{}", rows, columns),
        {.m = ceil_div(gemm.m, rows), .k = gemm.k, .n = ceil_div(gemm.n, columns)});
  }
  add(fmt::format("CR-{}", chips), {.m = gemm.m, .k = ceil_div(gemm.k, chips), .n = gemm.n});
  result.all = quartiles_of(std::move(all));
  return result;
}

}  // namespace dfsearch
