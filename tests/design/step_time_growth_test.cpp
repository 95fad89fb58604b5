// The bounds of boxes rest on this property: no quantity of a machine that grows alone makes the
// best step slower (docs/search.md, section 14).

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>

#include "design/split_worlds.hpp"
#include "engine/solve.hpp"
#include "support/worlds.hpp"
#include "technology/derive.hpp"
#include "technology/random_design.hpp"

namespace dfsearch {
namespace {

using test::World;

enum class Grown : std::uint8_t {
  Cores,
  Frequency,
  Sram,
  MemoryBandwidth,
  MemoryCapacity,
  NetworkBandwidth,
  LevelShare,
  LevelBandwidth,
};
constexpr std::size_t kGrown = 8;

/// The machine with a random chip of the world; nothing if there is none that runs.
std::optional<Problem> random_machine(const World& world, std::uint64_t seed) {
  const Split split = test::DesignMaker(seed).make().split;
  const Chip chip = derive(world.design, split, world.problem.system.network);
  if (!chip.infeasible.empty()) return std::nullopt;
  Problem machine = world.problem;
  put_into(world.design, chip, machine.system);
  if (!holds_tiles(machine.system.levels, machine.workload.word)) return std::nullopt;
  return machine;
}

/// Kernels are small, so that on-chip memories of a few words are what they feel.
void tighten(const World& world, Problem& machine, std::mt19937_64& random) {
  machine.system.accelerator.sram = world.problem.system.accelerator.sram;
  for (OnChipLevel& level : machine.system.levels) {
    const double words = 3.0 + static_cast<double>(random() % 60);
    level.share = std::min(level.share, words * machine.workload.word);
    level.bandwidth = 0.001 * level.bandwidth;
  }
}

/// An element at random.
template <class List>
auto& any_of(List& list, std::mt19937_64& random) {
  return list[random() % list.size()];
}

void grow(Machine& system, Grown what, double factor, std::mt19937_64& random) {
  switch (what) {
    case Grown::Cores:
      system.accelerator.cores +=
          1 +
          static_cast<std::int64_t>((factor - 1.0) * static_cast<double>(system.accelerator.cores));
      return;
    case Grown::Frequency:
      system.accelerator.frequency = factor * system.accelerator.frequency;
      return;
    case Grown::Sram:
      system.accelerator.sram = factor * system.accelerator.sram;
      return;
    case Grown::MemoryBandwidth:
      system.memory[0].bandwidth = factor * system.memory[0].bandwidth;
      return;
    case Grown::MemoryCapacity:
      system.memory[0].capacity = factor * system.memory[0].capacity;
      return;
    case Grown::NetworkBandwidth: {
      BytesPerSecond& bandwidth = any_of(system.network, random).bandwidth;
      bandwidth = factor * bandwidth;
      return;
    }
    case Grown::LevelShare: {
      Bytes& share = any_of(system.levels, random).share;
      share = factor * share;
      return;
    }
    case Grown::LevelBandwidth: {
      BytesPerSecond& bandwidth = any_of(system.levels, random).bandwidth;
      bandwidth = factor * bandwidth;
      return;
    }
  }
}

TEST_CASE("no quantity of a machine that grows alone makes the best step slower" *
          doctest::test_suite("worlds")) {
  std::array<int, kGrown> compared{};
  std::array<int, kGrown> faster{};
  int pairs = 0;
  for (std::uint64_t seed = 0; pairs < test::share_of(10'000) && seed < 100'000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed * 31 + 7);
    World world = test::random_world(seed);
    const auto what = static_cast<Grown>(seed % kGrown);
    // If cycles are counted, more cores of the same peak may be slower, but not more of the same
    // frequency; at a given utilization the peak alone counts.
    if (what == Grown::Cores) world.problem.execution.compute_utilization = 0.8;
    if (what >= Grown::LevelShare) world.problem.execution.levels = true;
    std::optional<Problem> before = random_machine(world, seed);
    const bool small = what == Grown::Sram || what == Grown::LevelShare || random() % 2 == 0;
    if (before && small) tighten(world, *before, random);
    if (!before || (what == Grown::NetworkBandwidth && before->system.network.empty())) continue;
    const SearchResult first = solve(*before, {});
    if (!first.cost) continue;
    Problem after = *before;
    const double factors[] = {1.0 + 1e-6, 1.1, 1.3, 2.0, 17.0};
    grow(after.system, what, factors[random() % 5], random);
    const SearchResult second = solve(after, {});
    CAPTURE(static_cast<int>(what));
    REQUIRE(second.cost.has_value());
    // The ticks of two machines differ in their last bits.
    CHECK(second.cost->objective <= first.cost->objective * (1.0 + 1e-11));
    ++pairs;
    ++compared[static_cast<std::size_t>(what)];
    faster[static_cast<std::size_t>(what)] +=
        second.cost->objective < first.cost->objective * (1.0 - 1e-9);
  }
  CHECK(pairs == test::share_of(10'000));
  for (std::size_t i = 0; i < kGrown; ++i) {
    CAPTURE(i);
    CHECK(compared[i] > test::share_of(900));
    // Each quantity counts, except the capacity, which only rules mappings out.
    if (static_cast<Grown>(i) != Grown::MemoryCapacity) CHECK(faster[i] > test::share_of(20));
  }
}

}  // namespace
}  // namespace dfsearch
