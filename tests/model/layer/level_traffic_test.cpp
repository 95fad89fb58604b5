#include "model/layer/level_traffic.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace dfsearch {
namespace {

std::int64_t pieces(std::int64_t extent, std::int64_t tile) { return (extent + tile - 1) / tile; }

/// Every tile of every operand that stays.
double all_tiles(const Shard& g, std::int64_t inner) {
  double best = std::numeric_limits<double>::infinity();
  const auto try_all = [&](std::int64_t rows, std::int64_t columns, auto words) {
    for (std::int64_t a = 1; a <= rows; ++a) {
      for (std::int64_t b = 1; b <= columns && a + b + a * b <= inner; ++b) {
        best = std::min(best, static_cast<double>(words(a, b)));
      }
    }
  };
  const std::int64_t m = g.m, k = g.k, n = g.n;
  try_all(m, n,
          [&](auto a, auto b) { return m * n + m * k * pieces(n, b) + k * n * pieces(m, a); });
  try_all(k, n, [&](auto a, auto b) {
    return k * n + m * k * pieces(n, b) + m * n * (2 * pieces(k, a) - 1);
  });
  try_all(m, k, [&](auto a, auto b) {
    return m * k + k * n * pieces(m, a) + m * n * (2 * pieces(k, b) - 1);
  });
  return best;
}

TEST_CASE("the words of a GEMM through a level are the least over all tiles") {
  std::mt19937_64 random(11);
  const auto up_to = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t most = i % 2 == 0 ? 12 : 60;
    const Shard gemm{.m = up_to(most), .k = up_to(most), .n = up_to(most)};
    const std::int64_t inner = up_to(i % 3 == 0 ? 20 : 2000);
    CAPTURE(i);
    CAPTURE(gemm.m);
    CAPTURE(gemm.k);
    CAPTURE(gemm.n);
    CAPTURE(inner);
    CHECK(tiled_words(gemm, inner) == all_tiles(gemm, inner));
  }
}

/// The least over every b with the greatest a beside it.
double every_side(std::int64_t n, double of_n, std::int64_t k, double of_k, std::int64_t inner) {
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t b = 1; b <= std::min(n, (inner - 1) / 2); ++b) {
    const std::int64_t a = std::min(k, (inner - b) / (1 + b));
    least = std::min(
        least, of_n * static_cast<double>(pieces(n, b)) + of_k * static_cast<double>(pieces(k, a)));
  }
  return least;
}

TEST_CASE("no tile of a large GEMM is missed between the first and the last that is tried") {
  std::mt19937_64 random(13);
  for (int i = 0; i < 3000; ++i) {
    const auto extent = [&] {
      return 1 + static_cast<std::int64_t>(random() % (random() % 2 == 0 ? 100 : 60'000));
    };
    const Shard gemm{.m = extent(), .k = extent(), .n = extent()};
    const auto inner =
        3 + static_cast<std::int64_t>(random() % (std::uint64_t{1} << (random() % 34)));
    const double mk = static_cast<double>(gemm.m) * static_cast<double>(gemm.k);
    const double kn = static_cast<double>(gemm.k) * static_cast<double>(gemm.n);
    const double mn = static_cast<double>(gemm.m) * static_cast<double>(gemm.n);
    CAPTURE(gemm.m);
    CAPTURE(gemm.k);
    CAPTURE(gemm.n);
    CAPTURE(inner);
    CHECK(tiled_words(gemm, inner) ==
          std::min({mn + every_side(gemm.n, mk, gemm.m, kn, inner),
                    kn - mn + every_side(gemm.n, mk, gemm.k, 2.0 * mn, inner),
                    mk - mn + every_side(gemm.k, 2.0 * mn, gemm.m, kn, inner)}));
  }
}

TEST_CASE("the words of a GEMM never grow with the memory further in") {
  std::mt19937_64 random(12);
  for (int i = 0; i < 300; ++i) {
    const auto extent = [&] { return 1 + static_cast<std::int64_t>(random() % 5000); };
    const Shard gemm{.m = extent(), .k = extent(), .n = extent()};
    double before = std::numeric_limits<double>::infinity();
    for (std::int64_t inner = 1; inner < 1'000'000'000; inner = inner * 5 / 4 + 1) {
      const double words = tiled_words(gemm, inner);
      CAPTURE(inner);
      CHECK(words <= before);
      before = words;
    }
    const double m = static_cast<double>(gemm.m);
    const double k = static_cast<double>(gemm.k);
    const double n = static_cast<double>(gemm.n);
    CHECK(before == m * k + k * n + m * n);  // each operand once
  }
}

TEST_CASE("fewer than three words hold no tile") {
  CHECK(std::isinf(tiled_words({.m = 4, .k = 4, .n = 4}, 2)));
  CHECK(!std::isinf(tiled_words({.m = 4, .k = 4, .n = 4}, 3)));
  const std::vector<OnChipLevel> levels = {{LevelName::L1, Bytes(5.0), BytesPerSecond(1.0), {}},
                                           {LevelName::L2, Bytes(0.0), BytesPerSecond(1.0), {}}};
  CHECK(holds_tiles(levels, Bytes(1.0)));
  CHECK(!holds_tiles(levels, Bytes(2.0)));
}

TEST_CASE("GEMMs of 4096 and others through the levels of a V100, as another evaluator has them") {
  struct Case {
    Shard gemm;
    double registers, l1, l2, memory;
  };
  for (const Case& c : {
           Case{{4096, 4096, 4096}, 34393292800.0, 2214592512.0, 1140850688.0, 201326592.0},
           Case{{32768, 32768, 32768},
                17594333528064.0,
                1116691496960.0,
                556198264832.0,
                81604378624.0},
           Case{{512, 4096, 16384}, 17196646400.0, 1107296256.0, 557842432.0, 155189248.0},
       }) {
    const Bytes word(2.0);
    CHECK(2.0 * array_words(c.gemm, 8, 8) == c.registers);
    CHECK(2.0 * tiled_words(c.gemm, words_of(Bytes(32666.07776049767), word)) == c.l1);
    CHECK(2.0 * tiled_words(c.gemm, words_of(Bytes(131072.0), word)) == c.l2);
    CHECK(2.0 * tiled_words(c.gemm, words_of(Bytes(6291456.0), word)) == c.memory);
  }
}

TEST_CASE("elementwise kernels move each operand once through every level") {
  const std::vector<OnChipLevel> levels = {
      {LevelName::Registers, Bytes(100.0), BytesPerSecond(1.0), {}},
      {LevelName::L2, Bytes(1e6), BytesPerSecond(1.0), {}}};
  Kernel kernel{.kind = KernelKind::Elementwise, .m = 30, .n = 7, .repeat = 3};
  const Shard whole{.m = 30, .k = 1, .n = 7};
  CHECK(level_bytes(kernel, whole, {}, levels, Bytes(2.0)) ==
        std::vector<Bytes>(2, Bytes(2.0 * 2.0 * 210.0 * 3.0)));
  kernel.kind = KernelKind::Elementwise2;
  CHECK(level_bytes(kernel, whole, {}, levels, Bytes(2.0)) ==
        std::vector<Bytes>(2, Bytes(2.0 * 3.0 * 210.0 * 3.0)));
}

}  // namespace
}  // namespace dfsearch
