// That a study may bound a box of points by its fastest point (docs/search.md, section 16): no
// quantity of a machine that grows makes the best step slower, not even by its last bit.

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "engine/solve.hpp"
#include "model/machine/network_choices.hpp"
#include "support/machine_worlds.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

using test::pick;

/// Problems of all styles and overlaps, with and without a utilization, with free degrees, with
/// shardings searched together with the fusion, of layers and of workloads of the whole machine.
Problem random_growing_problem(std::uint64_t seed) {
  const test::WorldLimits limits{
      .kernels = 5, .assignments = 2'000, .free_machine = seed % 3 == 0, .joint = seed % 5 == 0};
  Problem problem = seed % 4 == 0 ? test::random_machine_problem(seed, limits)
                                  : test::random_problem(seed, limits);
  problem.objective = Objective::StepTime;
  problem.system.memory.resize(1);
  problem.execution.levels = false;
  return problem;
}

/// No less than `value`: the same, a few last bits more, a little, or a lot.
double grown(double value, std::mt19937_64& random) {
  switch (pick(random, 0, 5)) {
    case 0:
      return value;
    case 1:
      return std::nextafter(value, std::numeric_limits<double>::infinity());
    case 2:
      return value * (1.0 + std::ldexp(static_cast<double>(pick(random, 1, 64)), -52));
    case 3:
      return value * (1.0 + std::ldexp(1.0, -static_cast<int>(pick(random, 8, 44))));
    case 4:
      return value * (1.0 + static_cast<double>(pick(random, 1, 1000)) / 1000.0);
    default:
      return value * static_cast<double>(pick(random, 2, 5));
  }
}

template <class Q>
Q grown(Q value, std::mt19937_64& random) {
  return Q(grown(value.in_base_units(), random));
}

/// One quantity grows, or all of them.
void grow(Machine& system, std::mt19937_64& random) {
  const std::int64_t one = pick(random, 0, 7);
  const auto grows = [&](std::int64_t quantity) { return one == quantity || one >= 6; };
  Accelerator& chip = system.accelerator;
  if (grows(0)) chip.cores += pick(random, 0, 1) == 0 ? 1 : chip.cores * pick(random, 1, 3);
  if (grows(1)) chip.frequency = grown(chip.frequency, random);
  if (grows(2)) chip.sram = grown(chip.sram, random);
  if (grows(3)) system.memory[0].bandwidth = grown(system.memory[0].bandwidth, random);
  if (grows(4)) system.memory[0].capacity = grown(system.memory[0].capacity, random);
  if (!grows(5)) return;
  for (NetworkDimension& dimension : system.network) {
    dimension.bandwidth = grown(dimension.bandwidth, random);
  }
}

TEST_CASE("no quantity that grows makes the best step slower, to the last bit" *
          doctest::test_suite("slow")) {
  int compared = 0, same = 0;
  for (std::uint64_t seed = 0; seed < 6'000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed * 977 + 5);
    Problem problem = random_growing_problem(seed);
    if (network_choices(problem).empty()) continue;  // no network has that number of chips
    SearchResult slower = solve(problem, {});
    for (int step = 0; step < 3; ++step) {
      CAPTURE(step);
      grow(problem.system, random);
      SearchResult faster = solve(problem, {});
      if (slower.cost) {
        REQUIRE(faster.cost.has_value());
        REQUIRE(faster.cost->objective <= slower.cost->objective);
        same += faster.cost->objective == slower.cost->objective ? 1 : 0;
        ++compared;
      }
      slower = std::move(faster);
    }
  }
  CHECK(compared > 8'000);
  CHECK(same < compared);
}

}  // namespace
}  // namespace dfsearch
