// Parts of the model that change what takes how long: dataflows of the arrays, levels of the chip
// and latencies of memories.  The search against brute force with each of them, and what must not
// change.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "model/evaluate.hpp"
#include "support/check_worlds.hpp"
#include "support/machine_worlds.hpp"
#include "support/model_worlds.hpp"
#include "support/worlds.hpp"

namespace dfsearch {
namespace {

Problem counting_cycles(std::uint64_t seed, Dataflow dataflow) {
  Problem problem = test::random_problem(seed, test::mixed_limits(seed));
  problem.execution.compute_utilization.reset();
  problem.system.accelerator.dataflow = dataflow;
  return problem;
}

TEST_CASE("solve finds one of the best mappings whatever stays in the arrays" *
          doctest::test_suite("worlds")) {
  const auto world = [](std::uint64_t seed) {
    return counting_cycles(seed, static_cast<Dataflow>(1 + seed % 3));
  };
  CHECK(test::check_worlds(test::share_of(300U), world, [](auto&&...) {}) > test::share_of(100));
}

TEST_CASE("the best dataflow of each kernel is never slower than one for all") {
  int faster = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const Problem problem = counting_cycles(seed, Dataflow::Best);
    if (network_choices(problem).empty()) continue;
    const SearchResult best = solve(problem, {});
    bool all_slower = best.cost.has_value();
    for (const Dataflow one : {Dataflow::Output, Dataflow::Weight, Dataflow::Input}) {
      const SearchResult alone = solve(counting_cycles(seed, one), {});
      REQUIRE(alone.cost.has_value() == best.cost.has_value());
      if (!best.cost) continue;
      // The ticks of two machines differ in their last bits.
      const double limit = alone.cost->step_time.in_base_units() * (1.0 + 1e-12);
      CHECK(best.cost->step_time.in_base_units() <= limit);
      all_slower = all_slower && best.cost->step_time < alone.cost->step_time * (1.0 - 1e-9);
    }
    faster += all_slower;
  }
  CHECK(faster > 0);
}

/// One to three levels whose traffic takes about as long as computing.
Problem with_levels(Problem problem, std::uint64_t seed) {
  std::mt19937_64 random(seed * 7919 + 5);
  const auto count = static_cast<std::size_t>(test::pick(random, 1, 3));
  problem.system.levels.clear();
  for (std::size_t x = 0; x < count; ++x) {
    const auto words = static_cast<double>(test::pick(random, 3, x == 0 ? 20 : 300));
    test::add_level(problem, words, std::exp2(static_cast<double>(test::pick(random, -5, 1))));
  }
  return problem;
}

TEST_CASE("solve finds one of the best mappings where levels take time" *
          doctest::test_suite("worlds")) {
  int bound_by_level = 0;
  const auto world = [](std::uint64_t seed) {
    return with_levels(test::random_problem(seed, test::mixed_limits(seed)), seed);
  };
  const int feasible =
      test::check_worlds(test::share_of(300U), world, [&](auto&&, const SearchResult& result) {
        if (!result.cost) return;
        for (const PartitionCost& partition : result.cost->partitions) {
          bound_by_level += partition.bound_by >= Bottleneck::Registers;
        }
      });
  CHECK(feasible > test::share_of(100));
  CHECK(bound_by_level > test::share_of(300));
}

TEST_CASE("more share or bandwidth of a level never makes the best step slower") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const Problem problem =
        with_levels(test::random_problem(seed, {.kernels = 5, .assignments = 500}), seed);
    const SearchResult before = solve(problem, {});
    if (!before.cost) continue;
    for (std::size_t x = 0; x < problem.system.levels.size(); ++x) {
      Problem more = problem;
      more.system.levels[x].share = 1.7 * more.system.levels[x].share;
      // The ticks of two machines differ in their last bits.
      const double limit = before.cost->objective.in_base_units() * (1.0 + 1e-12);
      CHECK(solve(more, {}).cost->objective.in_base_units() <= limit);
      more = problem;
      more.system.levels[x].bandwidth = 1.3 * more.system.levels[x].bandwidth;
      CHECK(solve(more, {}).cost->objective.in_base_units() <= limit);
    }
  }
}

TEST_CASE("levels that are not to take time change nothing") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    const Problem without = test::random_problem(seed, {.kernels = 5, .assignments = 500});
    Problem with = with_levels(without, seed);
    with.execution.levels = false;
    const SearchResult a = solve(without, {});
    const SearchResult b = solve(with, {});
    CHECK(a.status == b.status);
    CHECK(a.stats.nodes == b.stats.nodes);
    if (a.cost) CHECK(a.cost->objective == b.cost->objective);
  }
}

/// Latencies from none to about the time of a kernel, of the memory and, now and then, of levels.
Problem with_latencies(Problem problem, std::uint64_t seed) {
  std::mt19937_64 random(seed * 6151 + 11);
  const auto some = [&](double most) {
    return Seconds(most * static_cast<double>(test::pick(random, 0, 8)) / 8.0);
  };
  problem.system.memory[0].latency = some(2.0);
  if (test::pick(random, 0, 2) != 0) return problem;
  problem.system.levels.clear();
  for (std::size_t x = 0; x < 2; ++x) {
    const auto words = static_cast<double>(test::pick(random, 3, 200));
    test::add_level(problem, words, 1.0, some(1.0));
  }
  return problem;
}

TEST_CASE("solve finds one of the best mappings where memories have latencies") {
  int waits = 0;
  int spares = 0;
  const auto world = [](std::uint64_t seed) {
    const test::WorldLimits limits = test::mixed_limits(seed);
    return with_latencies(seed % 5 == 0 ? test::random_machine_problem(seed, limits)
                                        : test::random_problem(seed, limits),
                          seed);
  };
  const int feasible = test::check_worlds(300, world, [&](auto&&, const SearchResult& result) {
    if (!result.cost) return;
    for (const PartitionCost& partition : result.cost->partitions) {
      (partition.waiting > Seconds{} ? waits : spares) += 1;
    }
  });
  CHECK(feasible > 100);
  CHECK(waits > 300);
  CHECK(spares > 300);
}

TEST_CASE("a partition waits once for all that it moves, and not at all for nothing") {
  // test::example: A alone computes 0.15 s and stores 1.2 s; B and C load 1.2 s and compute 1.4 s.
  Problem problem = test::example();
  problem.execution.partitions = 2;
  const auto times = [&](double latency, std::vector<std::int64_t> partition) {
    problem.system.memory[0].latency = Seconds(latency);
    return test::cost_of(problem, test::example_mapping(std::move(partition)));
  };
  Cost cost = times(0.5, {0, 1, 1});
  CHECK(cost.partitions[0].memory.in_base_units() == doctest::Approx(1.7));
  CHECK(cost.partitions[0].time.in_base_units() == doctest::Approx(1.7));
  CHECK(cost.partitions[1].time.in_base_units() == doctest::Approx(1.7));
  CHECK(cost.partitions[0].memory_bytes.in_base_units() == doctest::Approx(48.0));
  CHECK(cost.memory_intensity == times(0.0, {0, 1, 1}).memory_intensity);
  // Behind computing.
  cost = times(0.125, {0, 1, 1});
  CHECK(cost.partitions[1].time.in_base_units() == doctest::Approx(1.4));
  // B and C alone store and load 1.2 s + 1.6 s and 1.6 s.
  problem.execution.partitions = 3;
  cost = times(0.5, {0, 1, 2});
  CHECK(cost.layer_time.in_base_units() == doctest::Approx(1.2 + 2.8 + 1.6 + 3 * 0.5));
  // Together nothing moves.
  problem.system.accelerator.sram = Bytes(1e6);
  cost = times(0.5, {0, 0, 0});
  CHECK(cost.partitions[0].memory == Seconds{});
  CHECK(cost.partitions[0].waiting == Seconds{});
}

TEST_CASE("a longer latency never makes the best step faster") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const Problem problem =
        with_latencies(test::random_problem(seed, {.kernels = 5, .assignments = 500}), seed);
    const SearchResult before = solve(problem, {});
    if (!before.cost) continue;
    // The ticks of two machines differ in their last bits.
    const double least = before.cost->objective.in_base_units() * (1.0 - 1e-12);
    Problem slower = problem;
    slower.system.memory[0].latency = slower.system.memory[0].latency + Seconds(0.3);
    CHECK(solve(slower, {}).cost->objective.in_base_units() >= least);
    for (OnChipLevel& level : slower.system.levels) level.latency = level.latency + Seconds(0.3);
    CHECK(solve(slower, {}).cost->objective.in_base_units() >= least);
  }
}

}  // namespace
}  // namespace dfsearch
