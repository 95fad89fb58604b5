#include "technology/gemm.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "base/counts.hpp"
#include "model/layer/level_traffic.hpp"

namespace dfsearch {

// docs/technology.md (21)
GemmTime gemm_time(const Technology& technology, const Chip& chip, const Shard& gemm, Bytes word,
                   Seconds launch_overhead) {
  GemmTime result;
  const double flops =
      2.0 * static_cast<double>(gemm.m) * static_cast<double>(gemm.k) * static_cast<double>(gemm.n);
  result.compute = Flops(flops) / chip.core.usable;
  result.time = result.compute;
  std::optional<Bytes> inner;  // share of the next inner level
  const auto add = [&](BytesPerSecond bandwidth, Seconds latency) {
    const double words = inner ? tiled_words(gemm, words_of(*inner, word))
                               : array_words(gemm, technology.core.lanes, technology.core.stages);
    const Bytes bytes = word * words;
    result.levels.push_back({bytes, bytes / bandwidth + latency});
    result.time = std::max(result.time, result.levels.back().time);
  };
  for (const ChipLevel& level : chip.levels) {
    add(level.bandwidth, level.latency);
    inner = level.share;
  }
  if (chip.memory) add(chip.memory->bandwidth, chip.memory->latency);
  result.time += launch_overhead;
  return result;
}

// The three loops of a GEMM over d1, d2, d3 are tiled once for each level; the tile of a level
// is one of 20 that fit into it.  All 20^3 triples of tiles are tried, with both orders of
// the two loops that move the operands not kept in the array.
//
// The published code is reproduced with its faults, which the page lists.

namespace {

using Extents = std::array<std::int64_t, 3>;

constexpr std::size_t kTiles = 20;
constexpr int kMostDraws = 100'000;
constexpr std::size_t kLevels = 3;

double product(std::int64_t a, std::int64_t b) { return number(a) * number(b); }

std::int64_t power_of_two_below(double x) {
  return std::int64_t{1} << static_cast<int>(std::floor(std::log2(x)));
}

/// A random whole number from 0 to `most`, by rejection from the fewest bits.
std::uint32_t draw(std::mt19937& random, std::uint32_t most) {
  std::uint32_t mask = 0;
  while (mask < most) mask = 2 * mask + 1;
  for (;;) {
    const auto bits = static_cast<std::uint32_t>(random()) & mask;
    if (bits <= most) return bits;
  }
}

/// Tiles of a level that holds `words`; fewer than 20 if 20 draws in a row find no new one.
std::vector<Extents> drawn_tiles(double words, bool outermost) {
  std::vector<Extents> tiles;
  std::set<Extents> known;
  const auto add = [&](const Extents& tile) {
    if (known.insert(tile).second) tiles.push_back(tile);
  };
  if (words < 2.0) return tiles;
  const std::int64_t t = power_of_two_below(std::sqrt(words / 2.0));
  add({t, t, t});
  add({t / 2, t, 2 * t});
  const auto logarithm = static_cast<std::uint32_t>(std::floor(std::log2(words)));
  if (logarithm == 0) return tiles;
  std::mt19937 random(1);
  for (int i = 0; i < kMostDraws && tiles.size() < kTiles; ++i) {
    const std::int64_t a = std::int64_t{1} << draw(random, logarithm - 1);
    const std::int64_t b = std::int64_t{1} << draw(random, logarithm - 1);
    const double left = words - product(a, b);
    const double z = std::floor(left / number(outermost ? b : a + b));
    if (z > 0.0) add({a, b, power_of_two_below(z)});
  }
  return tiles;
}

/// Number of pieces of a loop.
double pieces(std::int64_t extent, std::int64_t tile) { return number(ceil_div(extent, tile)); }

/// The quotient rounded down; 0 if the divisor is not positive.
std::int64_t floored(double a, std::int64_t b) {
  return b <= 0 ? 0 : static_cast<std::int64_t>(std::floor(a / number(b)));
}

/// Cuts a tile to the extents `d`, and enlarges another of its loops by the words that become free.
Extents fitted(Extents tile, const Extents& d, bool inner) {
  const auto [t1, t2, t3] = tile;
  const double capacity = product(t1, t2) + product(t1, t3) + product(t2, t3);
  std::array<bool, 3> greater{};
  for (std::size_t i = 0; i < 3; ++i) {
    greater[i] = tile[i] > d[i];
    tile[i] = std::min(tile[i], d[i]);
  }
  if (!greater[2] && (greater[0] || greater[1])) {
    const std::int64_t by = inner ? tile[0] + tile[1] : tile[1];
    tile[2] = std::min(d[2], floored(capacity - product(tile[0], tile[1]), by));
  } else if (!greater[0] && (greater[1] || greater[2])) {
    const std::int64_t by = inner ? tile[2] + tile[1] : tile[1];
    tile[0] = std::min(d[0], floored(capacity - product(tile[2], tile[1]), by));
  } else if (!greater[1] && greater[0] && greater[2]) {
    const double left = inner ? capacity - product(tile[2], tile[0]) : capacity;
    tile[1] = std::min(d[1], floored(left, tile[0] + tile[2]));
  }
  return tile;
}

class PublishedGemm {
 public:
  PublishedGemm(const Technology& technology, const Chip& chip, const Shard& gemm,
                Dataflow dataflow, Bytes word)
      : chip_(chip),
        gemm_(gemm),
        dataflow_(dataflow),
        word_(word.in_base_units()),
        fma_(*technology.core.fma) {
    for (std::size_t l = 0; l < kLevels; ++l) {
      tiles_[l] = drawn_tiles(number(words_of(chip.levels[l].share, word)), l + 1 == kLevels);
    }
  }

  [[nodiscard]] bool has_tiles() const {
    return std::all_of(tiles_.begin(), tiles_.end(),
                       [](const auto& of_level) { return !of_level.empty(); });
  }

  [[nodiscard]] double least_time() const {
    const std::int64_t m = gemm_.m, k = gemm_.k, n = gemm_.n;
    std::array<Extents, 2> orders{};
    std::size_t reused_loop = 2;
    if (dataflow_ == Dataflow::Weight) {
      orders = {Extents{k, n, m}, Extents{n, k, m}};
      reused_loop = 0;
    } else if (dataflow_ == Dataflow::Output) {
      orders = {Extents{m, n, k}, Extents{n, m, k}};
      reused_loop = 1;
    } else {
      orders = {Extents{m, k, n}, Extents{k, m, n}};
    }
    double least = std::numeric_limits<double>::infinity();
    for (const Extents& order : orders) {
      const std::int64_t reused = order[reused_loop];
      for (const Extents& outer : tiles_[2]) {
        for (const Extents& middle : tiles_[1]) {
          for (const Extents& inner : tiles_[0]) {
            least = std::min(least, time(order, reused, {inner, middle, outer}));
          }
        }
      }
    }
    return least;
  }

 private:
  [[nodiscard]] double time(const Extents& order, std::int64_t reused,
                            const std::array<Extents, kLevels>& tiles) const {
    Extents d = order;
    const double flops = product(d[0], d[2]) * (2.0 * number(d[1]) - 1.0);
    const double usable = chip_.core.usable.in_base_units();
    double longest = 0.0;
    const auto level = [&](double bytes, BytesPerSecond bandwidth, Seconds latency) {
      const double per_second = bandwidth.in_base_units();
      const double moved = bytes / per_second + latency.in_base_units();
      longest = std::max(longest, flops / bytes < usable / per_second ? moved : flops / usable);
    };
    double repeats = 1.0;
    for (std::size_t l = kLevels; l >= 1; --l) {
      const Extents t = fitted(tiles[l - 1], d, l == 1);
      std::array<double, 3> cut{1.0, 1.0, 1.0};
      if (t[0] > 0 && t[1] > 0 && t[2] > 0) {
        for (std::size_t i = 0; i < 3; ++i) cut[i] = pieces(d[i], t[i]);
      }
      const double bytes = repeats * word_ *
                           (product(d[0], d[1]) * cut[2] + product(d[1], d[2]) * cut[0] +
                            product(d[0], d[2]) * (l >= 2 ? 1.0 : cut[1]));
      if (l == kLevels) {
        level(bytes, chip_.memory->bandwidth, chip_.memory->latency);
      } else {
        level(bytes, chip_.levels[l].bandwidth, chip_.levels[l].latency);
      }
      repeats *= cut[0] * cut[1] * cut[2];
      for (std::size_t i = 0; i < 3; ++i) d[i] = t[i] > 0 ? t[i] : d[i];
    }
    const double g = number(ceil_div(reused, fma_));
    level(flops * word_ * (2.0 * g + 1.0) / (2.0 * g) / number(fma_), chip_.levels[0].bandwidth,
          chip_.levels[0].latency);
    return longest;
  }

  const Chip& chip_;
  const Shard gemm_;
  const Dataflow dataflow_;
  const double word_;
  const std::int64_t fma_;
  std::array<std::vector<Extents>, kLevels> tiles_;
};

}  // namespace

Dataflow published_dataflow(const Shard& gemm) {
  if (gemm.m >= std::max(gemm.k, gemm.n)) return Dataflow::Weight;
  return gemm.k >= std::max(gemm.m, gemm.n) ? Dataflow::Output : Dataflow::Input;
}

std::optional<Seconds> published_gemm_time(const Technology& technology, const Chip& chip,
                                           const Shard& gemm, Dataflow dataflow, Bytes word,
                                           Seconds launch_overhead) {
  if (!technology.core.fma || chip.levels.size() != kLevels || !chip.memory) return std::nullopt;
  const PublishedGemm published(technology, chip, gemm, dataflow, word);
  if (!published.has_tiles()) return std::nullopt;
  return Seconds(published.least_time()) + launch_overhead;
}

namespace {

/// Adds the FLOP per word of tiles of a x b of the left and b x c of the right operand: one value
/// each if the result, the left operand or the right operand stays in the level.
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
