// HPL in closed form against the loop over its steps, its bound against the best of a box, and
// public runs.

#include "model/hpc/hpl.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace dfsearch {
namespace {

class Random {
 public:
  explicit Random(unsigned seed) : random_(seed) {}

  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  std::int64_t whole(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool chance() { return whole(0, 1) == 1; }

 private:
  std::mt19937_64 random_;
};

HplRun some_run(Random& random) {
  return {.n = random.whole(2000, 60000),
          .block = random.whole(16, 600),
          .p = random.whole(1, 9),
          .q = random.whole(1, 9),
          .lookahead = random.whole(0, 4) > 0,
          .hidden = random.chance() ? 1.0 : random.between(0, 1)};
}

HplRates some_rates(Random& random) {
  return {.product = FlopsPerSecond(random.between(1e10, 5e13)),
          .half = random.between(0, 60),
          .panel = FlopsPerSecond(random.between(1e9, 1e12)),
          .memory = random.chance() ? BytesPerSecond::infinity()
                                    : BytesPerSecond(random.between(1e10, 4e12)),
          .row = BytesPerSecond(random.between(1e8, 3e11)),
          .column = BytesPerSecond(random.between(1e8, 3e11)),
          .alpha = Seconds(random.between(0, 5e-5)),
          .step = Seconds(random.between(0, 3e-4))};
}

/// Every step by itself, and the solution of the triangular system.
double by_steps(const HplRun& run, const HplRates& rates) {
  double sum = 0.0;
  const std::int64_t steps = run.n / run.block;
  for (std::int64_t k = 0; k < steps; ++k) {
    sum += hpl_step(run, rates, k).time(run, rates.step).in_base_units();
  }
  if (run.processes() == 1) return sum;
  const auto n = static_cast<double>(run.n);
  const auto g = static_cast<double>(run.processes());
  const auto b = static_cast<double>(run.block);
  const double memory = rates.memory.in_base_units();
  const double rate = rates.product.in_base_units() * b / (b + rates.half);
  sum += std::isinf(memory) ? 2.0 * n * n / g / rate : 16.0 * n * n / g / memory;
  const double log = std::ceil(std::log2(static_cast<double>(run.p)));
  return sum + 2.0 * static_cast<double>(steps) * rates.alpha.in_base_units() * (log + 1.0);
}

HplRates gpus(double rate, double row, double column) {
  return {.product = FlopsPerSecond(rate),
          .half = 40,
          .panel = FlopsPerSecond(0.02 * rate),
          .memory = BytesPerSecond::infinity(),
          .row = BytesPerSecond(row),
          .column = BytesPerSecond(column),
          .alpha = Seconds(4e-6),
          .step = Seconds(2e-4)};
}

}  // namespace

TEST_CASE("the closed form of HPL equals the loop over its steps") {
  Random random(7);
  for (int world = 0; world < 500; ++world) {
    const HplRun run = some_run(random);
    const HplRates rates = some_rates(random);
    const HplTime time = hpl_time(run, rates);
    CHECK(time.time.in_base_units() == doctest::Approx(by_steps(run, rates)).epsilon(1e-12));
    if (!run.lookahead) continue;
    std::int64_t waits = 0;
    for (std::int64_t k = 0; k < time.steps; ++k) {
      const HplStep step = hpl_step(run, rates, k);
      waits += step.update < step.panel + run.hidden * step.swap;
    }
    CHECK(std::abs(time.waits - waits) <= 1);
  }
}

TEST_CASE("no panel takes less than nothing, and no run exceeds the peak") {
  Random random(9);
  for (int world = 0; world < 500; ++world) {
    HplRun run = some_run(random);
    run.n = random.whole(600, 4000);  // down to some rows of a process
    const HplRates rates = some_rates(random);
    for (std::int64_t k = 0; k < run.n / run.block; ++k) {
      CHECK(hpl_step(run, rates, k).panel >= Seconds{});
    }
    const double n = static_cast<double>(run.n - run.n % run.block);
    const double flop = 2.0 / 3.0 * n * n * n - n * n * static_cast<double>(run.block);
    const double peak = rates.product.in_base_units() * static_cast<double>(run.processes());
    CHECK(hpl_time(run, rates).time.in_base_units() >= flop / peak * (1.0 - 1e-12));
  }
}

TEST_CASE("no run of a box of blocks and grids takes less than its bound") {
  Random random(8);
  for (int world = 0; world < 300; ++world) {
    const HplRun given = some_run(random);
    const HplRates rates = some_rates(random);
    const std::int64_t least = random.whole(16, 300);
    const std::int64_t most = least + random.whole(0, 300);
    std::vector<HplGrid> grids;
    for (int i = 0; i < 3; ++i) grids.push_back({random.whole(1, 9), random.whole(1, 9)});
    Seconds best = Seconds::infinity();
    for (const HplGrid& grid : grids) {
      for (std::int64_t block = least; block <= std::min(most, given.n); block += 7) {
        HplRun run = given;
        run.block = block;
        run.p = grid.p;
        run.q = grid.q;
        best = std::min(best, hpl_time(run, rates).time);
      }
    }
    CHECK(hpl_bound(given, rates, least, most, grids) <= best * (1.0 + 1e-12));
  }
}

TEST_CASE("a faster link, chip or memory never makes HPL slower") {
  Random random(9);
  for (int world = 0; world < 200; ++world) {
    const HplRun run = some_run(random);
    const HplRates rates = some_rates(random);
    HplRates faster = rates;
    faster.row = 2.0 * rates.row;
    faster.column = 2.0 * rates.column;
    faster.product = 2.0 * rates.product;
    faster.memory = 2.0 * rates.memory;
    CHECK(hpl_time(run, faster).time <= hpl_time(run, rates).time * (1.0 + 1e-12));
  }
}

TEST_CASE("HPL takes what published runs took") {
  const auto tflops = [](const HplRun& run, const HplRates& rates) {
    return hpl_flops(run.n) / hpl_time(run, rates).time / FlopsPerSecond(1e12);
  };
  // 8 H100 by Voltage Park: 365.4, to which the rate is fitted.
  CHECK(tflops({.n = 264192, .block = 1024, .p = 4, .q = 2}, gpus(49.74e12, 300e9, 300e9)) ==
        doctest::Approx(365.4).epsilon(0.002));
  // El Capitan on TOP500: 1,742,000.
  CHECK(tflops({.n = 25446528, .block = 512, .p = 148, .q = 296}, gpus(52e12, 40e9, 40e9)) ==
        doctest::Approx(1742000).epsilon(0.08));
}

TEST_CASE("grids are nearly square, with a few chips idle where these factor badly") {
  const auto check = [](std::int64_t processes, std::int64_t p, std::int64_t q) {
    const HplGrid grid = squarest_grid(processes);
    CHECK(grid.p == p);
    CHECK(grid.q == q);
  };
  check(23536, 148, 159);
  check(73984, 272, 272);
  check(8, 2, 4);
  check(7, 1, 7);
  check(1, 1, 1);
}

TEST_CASE("the best run is the best of all choices, with any node") {
  Random random(10);
  for (int world = 0; world < 60; ++world) {
    const HplNetwork network{.node = random.chance() ? 4 : 1,
                             .inside = BytesPerSecond(random.between(1e9, 1e11)),
                             .injected = BytesPerSecond(random.between(1e8, 1e10))};
    HplChoices choices{.blocks = {64, 128, 200}, .grids = {}, .lookahead = {true, false}};
    for (const std::int64_t p : {1, 2, 4, 8}) choices.grids.push_back({p, 8 / p});
    const HplRun given{.n = random.whole(2000, 20000)};
    const HplRates rates = some_rates(random);
    const auto best = best_hpl(given, rates, choices, network, Bytes::infinity());
    REQUIRE(best);
    Seconds least = Seconds::infinity();
    for (const HplGrid& grid : choices.grids) {
      for (const std::int64_t block : choices.blocks) {
        for (const bool lookahead : choices.lookahead) {
          for (const std::int64_t p : {1, 2, 4}) {
            const HplGrid node{p, network.node / p};
            if (node.q == 0 || node.p * node.q != network.node) continue;
            if ((grid.p % node.p != 0 || grid.q % node.q != 0) && node.p != network.node) continue;
            HplRun run = given;
            run.block = block;
            run.p = grid.p;
            run.q = grid.q;
            run.lookahead = lookahead;
            HplRates linked = rates;
            set_links(network, node, run, linked);
            Seconds time = hpl_time(run, linked).time;
            HplRun last = run;
            last.n = last.block = run.n % block;
            // Columns that no whole block has are factored all the same.
            if (last.n > 0) time += hpl_step(last, linked, 0).panel + linked.step;
            least = std::min(least, time);
          }
        }
      }
    }
    CHECK(best->time.time == least);
  }
  const HplChoices one{.blocks = {64}, .grids = {{1, 1}}, .lookahead = {true}};
  CHECK_FALSE(best_hpl({.n = 1000}, gpus(1e12, 1, 1), one, {}, Bytes(7.9e6)));
}

}  // namespace dfsearch
