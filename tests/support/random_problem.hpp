#pragma once
// Small worlds for brute force: every kind of kernel, every switch, systems in
// which SRAM, memory, cores or the network bind.

#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "model/problem.hpp"

namespace dfsearch::test {

/// How many partitions hold at least one kernel.
inline std::int64_t partitions_used(const std::vector<std::int64_t>& partition) {
  return std::ssize(std::set(partition.begin(), partition.end()));
}

struct WorldLimits {
  std::size_t kernels = 7;
  /// Limit on assignments x tiles x micro-batches, so that trying all of them stays cheap.
  double assignments = 20'000;
  /// Degrees and strategies are left to the search, too.
  bool free_machine = false;
  /// So is the sharding; `assignments` counts the shardings, too.
  bool joint = false;
  /// The tensor group is a grid of two axes; the sharding is left to the search.
  bool two_axes = false;
  /// Given: the machine has a price and a power, too.
  std::optional<Objective> objective = std::nullopt;
};

/// A random problem; it depends on the seed alone, on every machine.
Problem random_problem(std::uint64_t seed, const WorldLimits& limits = {});

/// A problem with more than `kernels` kernels, up to 150 or a third more; nothing if there is none,
/// or if tensors entangle too many kernels to find a sharding.
std::optional<Problem> large_problem(std::uint64_t seed, std::size_t kernels);

/// Everything but the graph and the sequence, which the problem has already: the
/// machine, batch and layers, how it executes, capacities near what binds.
void random_surroundings(std::mt19937_64& random, Problem& problem, const WorldLimits& limits = {});

/// Gives the kernels rates that differ from the rates of the arrays.
void set_rates(Problem& problem, std::uint64_t seed);

/// Uniform in [low, high]; unlike std::uniform_int_distribution the same with
/// every standard library.
std::int64_t pick(std::mt19937_64& random, std::int64_t low, std::int64_t high);

inline bool chance(std::mt19937_64& random, int percent) { return pick(random, 1, 100) <= percent; }

/// Adds the next level of the chip: of so many words, at so many words for each unit and cycle.
void add_level(Problem& problem, double words, double speed, Seconds latency = {});

}  // namespace dfsearch::test
