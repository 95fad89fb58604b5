// Grown partitions against every set of kernels that may be one.

#include "engine/duals/partition_growth.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>

#include "support/open_point.hpp"
#include "support/plain_completions.hpp"
#include "support/random_problem.hpp"
#include "support/symmetric_problem.hpp"

namespace dfsearch {
namespace {

using test::Mask;
using test::pick;
using Reach = PartitionGrowth::Reach;

/// Whether tensors connect them, in any direction.
bool are_connected(const FusionTables& tables, const KernelSet& kernels, std::size_t start) {
  KernelSet reached(tables.size());
  std::vector<std::size_t> waiting{start};
  reached.insert(start);
  while (!waiting.empty()) {
    const std::size_t p = waiting.back();
    waiting.pop_back();
    const auto visit = [&](const Arc& arc) {
      if (!kernels.contains(arc.other) || reached.contains(arc.other)) return;
      reached.insert(arc.other);
      waiting.push_back(arc.other);
    };
    for (const Arc& arc : tables.inputs(p)) visit(arc);
    for (const Arc& arc : tables.outputs(p)) visit(arc);
  }
  return reached == kernels;
}

/// With the share of starts from which something is to be found, and is, that is wanted.
void check_growth(Reach reach, double share) {
  int grown_in_all = 0;
  int several = 0;
  int starts = 0;
  int best_of_all = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    const bool symmetric = seed % 4 == 0;
    const Problem problem = symmetric ? test::symmetric_problem(seed)
                                      : test::random_problem(seed, {.joint = seed % 4 == 1});
    const auto context = test::open_point(problem, seed);
    const FusionTables& tables = context->tables;
    const PartitionPricing pricing(tables, PartitionPricing::Sets::Any);
    const PartitionGrowth growth(tables, pricing);
    const test::PlainPartitions plain(tables, test::AlikeKernels::Free);
    std::mt19937_64 random(seed);
    Duals duals;
    for (std::size_t p = 0; p < tables.size(); ++p) {
      duals.kernels.push_back(pricing.time_alone(p) * pick(random, 32, kFinePerTick));
    }
    duals.charge[0] = pick(random, 0, duals.kernels[0]);
    duals.charge[1] = pick(random, 0, duals.kernels[0]);
    const FineTicks threshold = pick(random, -duals.kernels[0], duals.kernels[0] / 4);
    for (std::size_t start = 0; start < tables.size(); ++start) {
      CAPTURE(start);
      std::int64_t steps = 0;
      const auto grown = growth.grow(start, duals, threshold, reach, steps);
      FineTicks most = threshold;
      for (const Mask kernels : plain.feasible()) {
        if ((kernels & test::bit(start)) == 0) continue;
        const Ticks time = plain.time(*plain.parts_of(kernels));
        most = std::max(most, test::excess_of(duals, tables, kernels, time));
      }
      starts += most > threshold;
      if (!grown) continue;
      const Mask kernels = test::mask_of(grown->kernels);
      CAPTURE(kernels);
      REQUIRE(steps < 0);
      REQUIRE(grown->kernels.contains(start));
      REQUIRE(plain.is_convex(kernels));
      const auto parts = plain.parts_of(kernels);
      REQUIRE(parts);
      REQUIRE(grown->time == plain.time(*parts));
      REQUIRE(grown->excess == test::excess_of(duals, tables, kernels, grown->time));
      REQUIRE(grown->excess > threshold);
      REQUIRE(grown->size == std::popcount(kernels));
      if (reach == Reach::Near) REQUIRE(are_connected(tables, grown->kernels, start));
      ++grown_in_all;
      several += grown->size > 1;
      best_of_all += grown->excess == most;
    }
  }
  CHECK(grown_in_all > starts * share);
  CHECK(several > grown_in_all / 4);
  CHECK(best_of_all > grown_in_all * share);
}

}  // namespace

TEST_CASE("what is grown may be a partition, has its kernel and is overpaid as it says") {
  check_growth(Reach::Far, 0.75);
}

TEST_CASE("what is grown from neighbour to neighbour is connected") {
  check_growth(Reach::Near, 0.6);
}

}  // namespace dfsearch
