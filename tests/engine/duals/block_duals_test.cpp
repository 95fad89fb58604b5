#include "engine/duals/block_duals.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "support/open_point.hpp"
#include "support/plain_partitions.hpp"
#include "support/random_problem.hpp"
#include "support/symmetric_problem.hpp"

namespace dfsearch {
namespace {

using test::Mask;

TEST_CASE("no partition takes less memory time than its duals by blocks") {
  int sets = 0;
  int paid = 0;
  int cut = 0;
  for (std::uint64_t seed = 0; seed < 2'500; ++seed) {
    CAPTURE(seed);
    const Problem problem = seed % 4 == 0 ? test::symmetric_problem(seed)
                                          : test::random_problem(seed, {.assignments = 1e9});
    if (problem.execution.style == Style::KernelByKernel) continue;
    const auto context = test::open_point(problem, seed);
    const FusionTables& tables = context->tables;
    const auto duals = block_duals(tables, 1 + seed % 4, seed % 7 == 0 ? 1 : 1'000'000);
    if (!duals) continue;
    REQUIRE(duals->kernels.size() == tables.size());
    REQUIRE(duals->gains.size() == tables.size());
    CHECK(duals->charge == std::array<FineTicks, 2>{});
    cut += block_ends(tables, 1 + seed % 4).size() > 1;
    const test::PlainPartitions plain(tables);
    for (const Mask kernels : plain.feasible()) {
      FineTicks sum = 0;
      for (std::size_t p = 0; p < tables.size(); ++p) {
        if ((kernels & test::bit(p)) != 0) sum += duals->kernels[p];
      }
      const auto parts = plain.parts_of(kernels);
      REQUIRE(sum <= parts->memory * kFinePerTick);
      paid += sum > 0;
      ++sets;
    }
  }
  CHECK(sets > 20'000);
  CHECK(paid > 5'000);
  CHECK(cut > 500);
}

TEST_CASE("blocks cover the kernels in order and are no larger than they may be") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed);
    const auto context = test::open_point(problem, seed);
    const std::size_t most = 1 + seed % 5;
    std::size_t begin = 0;
    for (const std::size_t end : block_ends(context->tables, most)) {
      CHECK(end > begin);
      CHECK(end - begin <= most);
      begin = end;
    }
    CHECK(begin == context->tables.size());
  }
}

}  // namespace
}  // namespace dfsearch
