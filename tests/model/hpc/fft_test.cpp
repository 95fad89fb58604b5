// FFTs in passes and transpositions, against their bound and public runs.

#include "model/hpc/fft.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

namespace dfsearch {
namespace {

FftTask a100s(std::vector<std::int64_t> sides, std::int64_t chips) {
  return {.sides = std::move(sides),
          .chips = chips,
          .element = Bytes(8),
          .is_real = false,
          .fast = Bytes(98304),
          .repack = 1,
          .memory = BytesPerSecond(0.85 * 2039e9),
          .vector = FlopsPerSecond(19.5e12),
          .alpha = Seconds(1e-6)};
}

collective::Axis of_switch(double n, double link) {
  return {.topology = Topology::Switch, .n = n, .link = BytesPerSecond(link)};
}

}  // namespace

TEST_CASE("passes split a transform into parts that fast memory holds") {
  CHECK(fft_passes(1, Bytes(8), Bytes(8)) == 1);
  CHECK(fft_passes(29056, Bytes(232448), Bytes(8)) == 1);
  CHECK(fft_passes(29057, Bytes(232448), Bytes(8)) == 2);
  CHECK(fft_passes(std::int64_t{1} << 30, Bytes(232448), Bytes(8)) == 3);
}

TEST_CASE("transforms take what cuFFTMp took on A100") {
  const std::vector<std::int64_t> cube(3, 2048);
  // 78 and 4 ms, NVIDIA's blog.
  const Seconds node = fft_time(a100s(cube, 8), {{8, BytesPerSecond(225e9), 0}});
  CHECK(node.in_base_units() == doctest::Approx(0.078).epsilon(0.07));
  const Seconds many = fft_time(a100s(cube, 2048), {{2048, BytesPerSecond(18.75e9), 2048}});
  CHECK(many.in_base_units() == doctest::Approx(0.004).epsilon(0.01));
}

TEST_CASE("2^30 points on one H100 pass through memory twice at least") {
  FftTask task = a100s({32768, 32768}, 1);
  task.fast = Bytes(50 * 1048576.0);
  task.repack = 0;
  task.memory = BytesPerSecond(3350e9);
  task.vector = FlopsPerSecond(66.9e12);
  CHECK(fft_time(task, {}).in_base_units() ==
        doctest::Approx(4.0 * 8.0 * 1073741824.0 / 3350e9).epsilon(1e-12));
  CHECK(fft_bound(task, task.fast, {}) <= fft_time(task, {}));
  task.sides = {std::int64_t{1} << 30};
  CHECK(fft_bound(task, task.fast, {}) == fft_time(task, {}));
}

TEST_CASE("slabs while planes last, pencils beyond, real input at half") {
  const FftNetwork network{.axes = {of_switch(8, 300e9), of_switch(64, 25e9)}};
  const auto slabs = best_fft(a100s({512, 512, 512}, 512), network, false, FftLayout::Slab);
  REQUIRE(slabs);
  CHECK(slabs->exchanges.size() == 1);
  const FftNetwork larger{.axes = {of_switch(8, 300e9), of_switch(512, 25e9)}};
  const FftTask many = a100s({512, 512, 512}, 4096);
  CHECK_FALSE(best_fft(many, larger, false, FftLayout::Slab));
  const auto pencils = best_fft(many, larger, true);
  REQUIRE(pencils);
  CHECK(pencils->layout == FftLayout::Pencil);
  CHECK(pencils->p * pencils->q == 4096);
  CHECK(pencils->exchanges.size() == 4);
  FftTask real = many;
  real.is_real = true;
  CHECK(fft_local_bytes(real) == fft_local_bytes(many) * 0.5);
  CHECK(fft_local_time(real) < fft_local_time(many));
  CHECK_FALSE(best_fft(a100s({16, 16}, 512), network, true));
}

TEST_CASE("no layout of a random transform is below the bound") {
  std::mt19937_64 random(3);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int found = 0;
  for (int world = 0; world < 400; ++world) {
    FftNetwork network{.axes = {}, .share = pick(1, 4) / 4.0};
    std::int64_t chips = 1;
    for (int i = pick(0, 2); i > 0; --i) {
      network.axes.push_back({.topology = static_cast<Topology>(pick(0, 3)),
                              .n = static_cast<double>(1 << pick(1, 3)),
                              .link = BytesPerSecond(1e9 * pick(1, 300))});
      chips *= static_cast<std::int64_t>(network.axes.back().n);
    }
    FftTask task = a100s({}, chips);
    for (int i = pick(1, 3); i > 0; --i) task.sides.push_back(std::int64_t{1} << pick(4, 12));
    task.fast = Bytes(1 << pick(8, 20));
    task.repack = pick(0, 2);
    const auto best = best_fft(task, network, pick(0, 1) == 1);
    if (!best) continue;
    ++found;
    CHECK(best->time >= fft_bound(task, 8.0 * task.fast, network) * (1.0 - 1e-12));
  }
  CHECK(found > 200);
}

}  // namespace dfsearch
