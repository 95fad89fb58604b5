// The latencies of memories in the time of a partition: the search against brute force, and what
// must not change.

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <cstdint>
#include <random>

#include "engine/solve.hpp"
#include "model/evaluate.hpp"
#include "model/machine/network_choices.hpp"
#include "support/brute_force.hpp"
#include "support/machine_worlds.hpp"
#include "support/model_worlds.hpp"
#include "support/node_efforts.hpp"
#include "support/random_problem.hpp"
#include "support/same_answer.hpp"

namespace dfsearch {
namespace {

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
  const tbb::global_control eight(tbb::global_control::max_allowed_parallelism, 8);
  int feasible = 0;
  int waits = 0;
  int spares = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const test::WorldLimits limits{
        .kernels = 5, .assignments = 2000, .free_machine = seed % 3 == 0, .joint = seed % 4 == 0};
    const Problem problem =
        with_latencies(seed % 5 == 0 ? test::random_machine_problem(seed, limits)
                                     : test::random_problem(seed, limits),
                       seed);
    if (network_choices(problem).empty()) continue;
    const test::BruteForceResult best = test::brute_force(problem);
    feasible += best.mapping.has_value();
    test::check_same_on_threads(problem, best, seed, [&](const SearchResult& result) {
      if (!result.cost) return;
      for (const PartitionCost& partition : result.cost->partitions) {
        (partition.waiting > Seconds{} ? waits : spares) += 1;
      }
    });
  }
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
