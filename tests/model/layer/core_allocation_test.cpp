#include "model/layer/core_allocation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

using test::elementwise;
using test::gemm;
using test::pick;
using Random = std::mt19937_64;

constexpr Accelerator kChip{.cores = 4, .lanes = 2, .stages = 3};

Kernel random_kernel(Random& random) {
  Kernel kernel = gemm("g", 1, 1, 1);
  if (pick(random, 0, 2) == 0) kernel.mode = Mode::Simd;
  if (pick(random, 0, 4) == 0) kernel.repeat = pick(random, 2, 3);
  if (pick(random, 0, 2) == 0) kernel.cycle_scale = static_cast<double>(pick(random, 1, 12)) / 8.0;
  return kernel;
}

Shard random_shard(Random& random) {
  return {.m = pick(random, 1, 30), .k = pick(random, 1, 5), .n = pick(random, 1, 20)};
}

Accelerator random_chip(Random& random, std::int64_t most_cores) {
  return {.cores = pick(random, 1, most_cores),
          .lanes = pick(random, 1, 4),
          .stages = pick(random, 1, 4),
          .dataflow = static_cast<Dataflow>(pick(random, 0, 3))};
}

/// Cores and cycles of every grid that the chip has room for.
std::vector<std::pair<std::int64_t, std::int64_t>> all_grids(const Kernel& kernel,
                                                             const Shard& shard,
                                                             const Accelerator& chip) {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  for (std::int64_t l = 1; l <= chip.cores; ++l) {
    const std::int64_t highest = kernel.mode == Mode::Simd ? 1 : chip.cores / l;
    for (std::int64_t s = 1; s <= highest; ++s) {
      const auto blocks = [](std::int64_t extent, std::int64_t width) {
        std::int64_t count = 0;
        for (; extent > 0; extent -= width) ++count;
        return count;
      };
      const auto array = [&](std::int64_t across, std::int64_t along, std::int64_t past) {
        const std::int64_t count =
            kernel.repeat * blocks(across, l * chip.lanes) * blocks(along, s * chip.stages) * past;
        return static_cast<std::int64_t>(
            std::ceil(static_cast<double>(count) * kernel.cycle_scale));
      };
      if (kernel.mode == Mode::Simd) {
        all.emplace_back(l * s, array(shard.m, 1, shard.n));
        continue;
      }
      const bool any = chip.dataflow == Dataflow::Best;
      if (any || chip.dataflow == Dataflow::Output) {
        all.emplace_back(l * s, array(shard.m, shard.n, shard.k));
      }
      if (any || chip.dataflow == Dataflow::Weight) {
        all.emplace_back(l * s, array(shard.m, shard.k, shard.n));
      }
      if (any || chip.dataflow == Dataflow::Input) {
        all.emplace_back(l * s, array(shard.n, shard.k, shard.m));
      }
    }
  }
  return all;
}

TEST_CASE("a systolic kernel takes a pass of k cycles for each block of rows and columns") {
  const Kernel kernel = gemm("g", 1, 1, 1);
  const Shard shard{.m = 13, .k = 5, .n = 10};
  CHECK(cycles(kernel, shard, kChip, {1, 1}) == 140);  // ceil(13/2) x ceil(10/3) x 5
  CHECK(cycles(kernel, shard, kChip, {2, 1}) == 80);   // ceil(13/4) x 4 x 5
  CHECK(cycles(kernel, shard, kChip, {1, 2}) == 70);   // 7 x ceil(10/6) x 5
  CHECK(cycles(kernel, shard, kChip, {7, 4}) == 5);    // one pass
}

TEST_CASE("what streams past the operand that stays takes a cycle each") {
  const Kernel kernel = gemm("g", 1, 1, 1);
  const Shard vector{.m = 1024, .k = 1024, .n = 1};  // a token
  Accelerator chip{.cores = 1, .lanes = 8, .stages = 8};
  const auto with = [&](Dataflow dataflow) {
    chip.dataflow = dataflow;
    return cycles(kernel, vector, chip, {1, 1});
  };
  CHECK(with(Dataflow::Output) == 131072);  // 128 x 1 x 1024
  CHECK(with(Dataflow::Weight) == 16384);   // 128 x 128 x 1
  CHECK(with(Dataflow::Input) == 131072);   // 1 x 128 x 1024
  CHECK(with(Dataflow::Best) == 16384);
  CHECK(dataflow_of(kernel, vector, chip, {1, 1}) == Dataflow::Weight);
}

TEST_CASE("of dataflows with the same cycles the one that moves least is taken, then the first") {
  const Kernel kernel = gemm("g", 1, 1, 1);
  const Accelerator chip{.cores = 1, .lanes = 2, .stages = 2, .dataflow = Dataflow::Best};
  // All take 4 x 4 x 8 cycles.
  CHECK(dataflow_of(kernel, {.m = 8, .k = 8, .n = 8}, chip, {1, 1}) == Dataflow::Output);
  CHECK(dataflow_of(kernel, {.m = 4, .k = 2, .n = 16}, chip, {1, 1}) == Dataflow::Weight);
  CHECK(dataflow_of(kernel, {.m = 16, .k = 2, .n = 4}, chip, {1, 1}) == Dataflow::Input);
  CHECK(dataflow_of(kernel, {.m = 8, .k = 4, .n = 8}, chip, {1, 1}) == Dataflow::Output);  // K = 4
}

TEST_CASE("a SIMD kernel uses the lanes alone") {
  const Kernel kernel = elementwise("e", 1, 1);
  const Shard shard{.m = 13, .k = 5, .n = 10};
  CHECK(cycles(kernel, shard, kChip, {1, 1}) == 70);  // ceil(13/2) x 10
  CHECK(cycles(kernel, shard, kChip, {3, 1}) == 30);  // ceil(13/6) x 10
  CHECK(cycles(kernel, shard, kChip, {3, 9}) == 30);
}

TEST_CASE("no grid spends fewer cycles of cores than one core, at any rate of the kernel") {
  Random random(12);
  for (int world = 0; world < 2000; ++world) {
    const Kernel kernel = random_kernel(random);
    const Shard shard = random_shard(random);
    const Accelerator chip = random_chip(random, 12);
    const std::int64_t alone = cycles(kernel, shard, chip, {});
    for (const CoreOption& option : core_options(kernel, shard, chip)) {
      CHECK(option.cores * option.cycles >= alone);
    }
  }
}

TEST_CASE("cycles count for every repeat") {
  Kernel kernel = gemm("g", 1, 1, 1);
  kernel.repeat = 3;
  const Shard shard{.m = 13, .k = 5, .n = 10};
  CHECK(cycles(kernel, shard, kChip, {1, 1}) == 420);
  kernel.mode = Mode::Simd;
  CHECK(cycles(kernel, shard, kChip, {1, 1}) == 210);
}

TEST_CASE("cycles beyond any integer saturate in place of wrapping round") {
  Kernel kernel = gemm("g", 1, 1, 1);
  kernel.repeat = std::int64_t{1} << 40;
  const std::int64_t large = std::int64_t{1} << 40;
  const std::int64_t most = cycles(kernel, {.m = large, .k = large, .n = large}, kChip, {1, 1});
  CHECK(most > 0);
  CHECK(most >= cycles(kernel, {.m = large, .k = large, .n = large}, kChip, {2, 1}));
}

// 13 x 5 x 10 on four cores of 2 x 3; cores: the best cycles of the grids
// 1: 7x4x5 = 140; 2: (2,1) 4x4x5 = 80, (1,2) 7x2x5 = 70; 3: (3,1) 3x4x5 = 60,
// (1,3) 7x2x5 = 70; 4: (4,1) 2x4x5 = 40, (2,2) 4x2x5 = 40, (1,4) 7x1x5 = 35.
TEST_CASE("the options are those that no other beats in cores and cycles") {
  const auto options = core_options(gemm("g", 1, 1, 1), {.m = 13, .k = 5, .n = 10}, kChip);
  REQUIRE(options.size() == 4);
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected{
      {1, 140}, {2, 70}, {3, 60}, {4, 35}};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(std::pair(options[i].cores, options[i].cycles) == expected[i]);
  }
  CHECK(options[1].grid == CoreGrid{1, 2});
  CHECK(options[3].grid == CoreGrid{1, 4});
}

TEST_CASE("the options are the Pareto front of all grids") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Kernel kernel = random_kernel(random);
    const Shard shard = random_shard(random);
    const Accelerator chip = random_chip(random, 14);
    const auto all = all_grids(kernel, shard, chip);
    std::vector<std::pair<std::int64_t, std::int64_t>> front;
    for (const auto& one : all) {
      const bool beaten = std::any_of(all.begin(), all.end(), [&](const auto& other) {
        return other != one && other.first <= one.first && other.second <= one.second;
      });
      if (!beaten) front.push_back(one);
    }
    std::sort(front.begin(), front.end());
    front.erase(std::unique(front.begin(), front.end()), front.end());

    const auto options = core_options(kernel, shard, chip);
    REQUIRE(options.size() == front.size());
    for (std::size_t i = 0; i < front.size(); ++i) {
      CHECK(options[i].cores == front[i].first);
      CHECK(options[i].cycles == front[i].second);
      CHECK(options[i].grid.cores() == options[i].cores);
      CHECK(cycles(kernel, shard, chip, options[i].grid) == options[i].cycles);
      if (kernel.mode == Mode::Simd) CHECK(options[i].grid.stages == 1);
    }
  }
}

TEST_CASE("a million cores and a long sequence have few useful options") {
  const Accelerator large{.cores = 850'000, .lanes = 1, .stages = 1};
  const auto options = core_options(gemm("g", 1, 1, 1), {.m = 3000, .k = 7, .n = 2000}, large);
  CHECK(options.front().cores == 1);
  CHECK(options.front().cycles == 42'000'000);  // 3000 x 2000 x 7
  CHECK(options.back().cores <= 850'000);
  // 6'000'000 elements on 850'000 cores are at least 8 blocks for each: 1500 x
  // 500 = 750'000 cores take 2 x 4.  7 would need 429 x 2000 or 3000 x 286.
  CHECK(options.back().cycles == 56);
  for (std::size_t i = 1; i < options.size(); ++i) {
    CHECK(options[i].cores > options[i - 1].cores);
    CHECK(options[i].cycles < options[i - 1].cycles);
  }
}

TEST_CASE("the cheapest option within a pace is the first that keeps it") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto options =
        core_options(random_kernel(random), random_shard(random), random_chip(random, 14));
    const std::int64_t most = options.front().cycles + 2;
    for (std::int64_t pace = 0; pace <= most; pace += 1 + most / 200) {
      const CoreOption* expected = nullptr;
      for (auto option = options.rbegin(); option != options.rend(); ++option) {
        if (option->cycles <= pace) expected = &*option;
      }
      CHECK(cheapest_within(options, pace) == expected);
    }
  }
}

/// Gives kernel `i` and those behind it every option in turn.
std::int64_t try_everything(
    const std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>>& grids, std::size_t i,
    std::int64_t cores, std::int64_t slowest) {
  if (i == grids.size()) return slowest;
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (const auto& [used, pace] : grids[i]) {
    if (used > cores) continue;
    best = std::min(best, try_everything(grids, i + 1, cores - used, std::max(slowest, pace)));
  }
  return best;
}

TEST_CASE("the least cycles are those of trying every allocation") {
  int impossible = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Accelerator chip = random_chip(random, 7);
    const auto count = static_cast<std::size_t>(pick(random, 1, 4));
    std::vector<std::vector<CoreOption>> options;
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> grids;
    for (std::size_t i = 0; i < count; ++i) {
      const Kernel kernel = random_kernel(random);
      const Shard shard = random_shard(random);
      options.push_back(core_options(kernel, shard, chip));
      grids.push_back(all_grids(kernel, shard, chip));
    }
    std::vector<const std::vector<CoreOption>*> lists;
    for (const auto& list : options) lists.push_back(&list);
    // Kernels of one shape share a list.
    for (std::size_t i = 1; i < count; ++i) {
      if (pick(random, 0, 2) > 0) continue;
      lists[i] = lists[i - 1];
      grids[i] = grids[i - 1];
    }
    const auto found = least_cycles(lists, chip.cores);
    if (static_cast<std::int64_t>(count) > chip.cores) {
      CHECK_FALSE(found.has_value());
      ++impossible;
      continue;
    }
    REQUIRE(found.has_value());
    CHECK(*found == try_everything(grids, 0, chip.cores, 0));
  }
  CHECK(impossible > 100);
}

TEST_CASE("with a core for each kernel the slowest of them sets the pace") {
  const auto fast = core_options(gemm("g", 1, 1, 1), {.m = 2, .k = 1, .n = 3}, kChip);
  const auto slow = core_options(gemm("g", 1, 1, 1), {.m = 13, .k = 5, .n = 10}, kChip);
  const std::vector<const std::vector<CoreOption>*> lists{&fast, &slow};
  CHECK(least_cycles(lists, 2) == 140);
  CHECK(least_cycles(lists, 3) == 70);  // one and two
  CHECK(least_cycles(lists, 4) == 60);  // one and three
  CHECK_FALSE(least_cycles(lists, 1).has_value());
}

}  // namespace
TEST_CASE("of many options the unbeaten ones stay, by buckets as by sorting") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 500; ++round) {
    CAPTURE(round);
    std::vector<CoreOption> all(1 + random() % 40);
    for (CoreOption& option : all) {
      option.cores = static_cast<std::int64_t>(1 + random() % 12);
      option.cycles = static_cast<std::int64_t>(random() % 30);
      option.grid.lanes = static_cast<std::int64_t>(1 + random() % 1000);  // tells them apart
    }
    std::vector<CoreOption> expected;
    for (const CoreOption& option : all) {
      // Beaten: as few cores and as few cycles elsewhere, less of one or listed first.
      const bool beaten = std::any_of(all.begin(), all.end(), [&](const CoreOption& other) {
        const bool equal = other.cores == option.cores && other.cycles == option.cycles;
        return equal ? &other < &option
                     : other.cores <= option.cores && other.cycles <= option.cycles;
      });
      if (!beaten) expected.push_back(option);
    }
    std::sort(expected.begin(), expected.end(),
              [](const CoreOption& a, const CoreOption& b) { return a.cores < b.cores; });
    for (const std::int64_t cores : {std::int64_t{12}, std::int64_t{1} << 40}) {
      const std::vector<CoreOption> best = pareto_options(std::vector(all), cores);
      REQUIRE(best.size() == expected.size());
      for (std::size_t i = 0; i < best.size(); ++i) {
        CHECK(best[i].cores == expected[i].cores);
        CHECK(best[i].cycles == expected[i].cycles);
        CHECK(best[i].grid == expected[i].grid);
      }
    }
  }
}

TEST_CASE("a cache of options gives what is computed anew, for one shape and for several") {
  const Accelerator chip{.cores = 24, .lanes = 4, .stages = 2, .frequency = Hertz(1), .sram = {}};
  Kernel kernel;
  kernel.mode = Mode::Systolic;
  const Shard wide{.m = 40, .k = 3, .n = 10};
  const Shard tall{.m = 10, .k = 12, .n = 10};
  CoreOptionsCache cache;
  for (const bool again : {false, true}) {
    CAPTURE(again);
    for (const std::vector<Shard>& shapes : {std::vector{wide}, std::vector{wide, tall}}) {
      const auto list = cache.options(kernel, shapes, chip);
      for (std::int64_t cores = 1; cores <= chip.cores; ++cores) {
        // The fewest cycles on `cores`, in the list and in all shapes.
        const auto fewest = [&](const std::vector<CoreOption>& options) {
          std::int64_t cycles = std::numeric_limits<std::int64_t>::max();
          for (const CoreOption& option : options) {
            if (option.cores <= cores) cycles = std::min(cycles, option.cycles);
          }
          return cycles;
        };
        std::int64_t expected = std::numeric_limits<std::int64_t>::max();
        for (const Shard& shape : shapes) {
          expected = std::min(expected, fewest(core_options(kernel, shape, chip)));
        }
        CHECK(fewest(*list) == expected);
      }
    }
  }
}

}  // namespace dfsearch
