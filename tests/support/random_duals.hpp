#pragma once
// Small worlds, and duals that overpay some of their partitions.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>

#include "engine/duals/partition_pricing.hpp"
#include "support/model_worlds.hpp"
#include "support/open_point.hpp"
#include "support/random_problem.hpp"
#include "support/symmetric_problem.hpp"

namespace dfsearch::test {

inline Problem priced_world(std::uint64_t seed) {
  return seed % 5 == 0 ? symmetric_problem(seed) : random_problem(seed, {.joint = seed % 5 == 1});
}

/// Near what the kernels cost by themselves, so that some sets are overpaid.
inline Duals random_duals(const PartitionPricing& pricing, std::size_t size,
                          std::mt19937_64& random) {
  Duals duals;
  for (std::size_t p = 0; p < size; ++p) {
    const auto part = static_cast<double>(pick(random, 0, 12)) / 10;
    duals.kernels.push_back(
        static_cast<FineTicks>(static_cast<double>(pricing.time_alone(p)) * part) * kFinePerTick +
        pick(random, 0, kFinePerTick - 1));
  }
  for (FineTicks& charge : duals.charge) {
    if (pick(random, 0, 1) == 0) charge = duals.kernels[0] / pick(random, 1, 4);
  }
  return duals;
}

/// So low that every set is listed.
inline FineTicks lowest(const Duals& duals) {
  return -std::accumulate(duals.kernels.begin(), duals.kernels.end(), FineTicks{0}) -
         duals.charge[0] - duals.charge[1];
}

inline void for_each_priced_world(
    std::uint64_t count, const std::function<void(const FusionTables&, std::mt19937_64&)>& check) {
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    CAPTURE(seed);
    const Problem problem = priced_world(seed);
    std::mt19937_64 random(seed);
    check(open_point(problem, seed)->tables, random);
  }
}

}  // namespace dfsearch::test
