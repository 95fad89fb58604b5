// Duals of alike kernels against all partitions.

#include "engine/duals/frontier_duals.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "support/expert_problem.hpp"
#include "support/open_point.hpp"
#include "support/plain_partitions.hpp"
#include "support/random_problem.hpp"
#include "support/symmetric_problem.hpp"

namespace dfsearch {
namespace {

using test::Mask;

Problem world(std::uint64_t seed) {
  if (seed % 4 == 0) return test::random_problem(seed, {.assignments = 1e9});
  return seed % 4 == 1 ? test::symmetric_problem(seed) : test::expert_problem(seed);
}

}  // namespace

TEST_CASE("no partition takes less than the duals of its kernels less its charge") {
  int sets = 0;
  int just_paid = 0;
  int charged = 0;
  int early = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const Problem problem = world(seed);
    if (problem.execution.style == Style::KernelByKernel) continue;
    const auto context = test::open_point(problem, seed);
    const FusionTables& tables = context->tables;
    FrontierDualSearch search(tables);
    const bool is_over = search.advance(seed % 5 == 0 ? 400 : 1'000'000'000);
    const auto duals = search.take();
    if (!duals) continue;
    early += !is_over;
    REQUIRE(duals->kernels.size() == tables.size());
    REQUIRE(duals->gains.size() == tables.size());
    const PartitionRules rules(tables);
    charged += duals->charge[0] > 0;
    const test::PlainPartitions plain(tables, test::AlikeKernels::Free);
    for (const Mask kernels : plain.feasible()) {
      FineTicks sum = 0;
      std::size_t group = 0;
      for (std::size_t p = 0; p < tables.size(); ++p) {
        if ((kernels & test::bit(p)) == 0) continue;
        sum += duals->kernels[p];
        group = rules.group(tables.kernel(p).backward);
      }
      const FineTicks time = plain.time(*plain.parts_of(kernels)) * kFinePerTick;
      REQUIRE(sum <= time + duals->charge[group]);
      just_paid += sum > 0 && sum >= time - time / 1000;
      ++sets;
    }
  }
  CHECK(sets > 50'000);
  CHECK(just_paid > 3'000);
  CHECK(charged > 50);
  CHECK(early > 0);
}

}  // namespace dfsearch
