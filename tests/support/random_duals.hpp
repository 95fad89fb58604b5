#pragma once
// Duals that overpay some partitions.

#include <cstddef>
#include <cstdint>
#include <random>

#include "engine/duals/duals.hpp"
#include "engine/tables/partition_time.hpp"
#include "support/random_problem.hpp"

namespace dfsearch::test {

/// Near what the kernels cost by themselves, so that some sets are overpaid.
inline Duals random_duals(const FusionTables& tables, std::mt19937_64& random) {
  Duals duals;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    const auto part = static_cast<double>(pick(random, 0, 12)) / 10;
    duals.kernels.push_back(
        static_cast<FineTicks>(static_cast<double>(time_alone(tables, p)) * part) * kFinePerTick +
        pick(random, 0, kFinePerTick - 1));
  }
  for (FineTicks& charge : duals.charge) {
    if (pick(random, 0, 1) == 0) charge = duals.kernels[0] / pick(random, 1, 4);
  }
  return duals;
}

}  // namespace dfsearch::test
