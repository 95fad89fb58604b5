// Dual values against every set of kernels that may be a partition and every way to go on.

#include "engine/duals/exact_duals.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/fusion/lazy_duals.hpp"
#include "engine/mapping/mapping_problem.hpp"
#include "graph/graph_builder.hpp"
#include "support/helpers.hpp"
#include "support/linear_program.hpp"
#include "support/machine_worlds.hpp"
#include "support/open_point.hpp"
#include "support/plain_completions.hpp"
#include "support/random_problem.hpp"
#include "support/same_duals.hpp"
#include "support/symmetric_problem.hpp"

namespace dfsearch {
namespace {

using test::Mask;
using test::pick;
using test::same;

constexpr std::int64_t kEnoughRounds = 100'000'000;

/// Pins, halves, joint shardings, cores shared out or not, SRAM that hardly suffices.
Problem dual_world(std::uint64_t seed) {
  switch (seed % 5) {
    case 0:
      return test::symmetric_problem(seed);
    case 1:
      return test::random_problem(seed, {.assignments = 1e9, .joint = true});
    case 2:
      return test::random_machine_problem(seed, {.kernels = 6, .assignments = 1e9});
    default:
      return test::random_problem(seed, {.assignments = 1e9});
  }
}

/// Different kernels one after the other, each partition with some of them: a small frontier.
Problem long_chain(std::uint64_t seed) {
  constexpr std::int64_t kKernels = 130;
  std::mt19937_64 random(seed);
  GraphBuilder builder;
  for (std::int64_t k = 1; k <= kKernels; ++k) {
    builder.weight_gemm("gemm_" + std::to_string(k), 1, pick(random, 16, 400), 64, 64);
    if (k > 1) builder.connect(k - 1, k);
  }
  Problem problem = test::random_problem(1);
  problem.workload.graph = std::move(builder).build();
  problem.execution = {};
  problem.sharding_pins.clear();
  problem.system.accelerator.cores = 16;
  problem.system.accelerator.sram = problem.workload.word * 400.0 * 64.0 * 8.0;
  return problem;
}

std::optional<PartitionDuals> find_duals(const FusionTables& tables) {
  ExactDualSearch search(tables);
  REQUIRE(search.advance(kEnoughRounds));
  return search.take();
}

/// Each call twice as long as the one before.
std::optional<PartitionDuals> find_duals_bit_by_bit(const FusionTables& tables, int& calls) {
  ExactDualSearch search(tables);
  std::int64_t steps = 1;
  for (; !search.advance(steps); ++calls) {
    steps *= 2;
    REQUIRE(steps < kEnoughRounds);
  }
  return search.take();
}

void check_valid(const PartitionDuals& duals, const FusionTables& tables,
                 const test::PlainCompletions& plain) {
  REQUIRE(duals.kernels.size() == tables.size());
  for (const FineTicks dual : duals.kernels) REQUIRE(dual >= 0);
  const test::PlainPartitions partitions(tables, test::AlikeKernels::Free);
  for (Mask kernels = 1; kernels <= partitions.all(); ++kernels) {
    if (plain.time(kernels) >= kNever || !partitions.is_convex(kernels)) continue;
    CAPTURE(kernels);
    REQUIRE(test::charge_of(duals, tables, kernels) >= 0);
    REQUIRE(test::excess_of(duals, tables, kernels, plain.time(kernels)) <= 0);
  }
}

/// Kernels that may be exchanged are worth the same.
void check_alike(const PartitionDuals& duals, const FusionTables& tables) {
  for (std::size_t p = 0; p < tables.size(); ++p) {
    REQUIRE(duals.kernels[p] == duals.kernels[tables.order().first_alike()[p]]);
  }
}

void check_gains(const PartitionDuals& duals, const FusionTables& tables) {
  REQUIRE(duals.gains.size() == tables.size());
  for (std::size_t p = 0; p < tables.size(); ++p) {
    const KernelCosts& kernel = tables.kernel(p);
    const auto beyond = [&](Ticks time) {
      return std::max<FineTicks>(0, duals.kernels[p] - time * kFinePerTick);
    };
    const auto& gains = duals.gains[p];
    CAPTURE(p);
    switch (tables.problem().execution.overlap) {
      case Overlap::Perfect:
        REQUIRE(gains[0] == beyond(kernel.compute));
        REQUIRE(gains[1] == beyond(kernel.network));
        REQUIRE(gains[2] == beyond(kernel.explicit_memory));
        break;
      case Overlap::ComputeMemory:
        REQUIRE(gains[0] == beyond(kernel.compute + kernel.network));
        REQUIRE(gains[1] == beyond(kernel.explicit_memory + kernel.network));
        break;
      case Overlap::None:
        REQUIRE(gains[0] == beyond(kernel.compute + kernel.network + kernel.explicit_memory));
        break;
    }
  }
}

FusionNode node_at(const FusionTables& tables, Mask rest, std::int32_t next_index) {
  FusionNode node;
  node.done = test::set_of(tables.size(), ~rest);
  node.next_index = next_index;
  return node;
}

/// The least cost of fractions of partitions that cover all kernels, as many as there may
/// be: the most that duals can prove.
long double fractional_cover(const FusionTables& tables, const test::PlainCompletions& plain) {
  const PartitionRules rules(tables);
  test::LinearProgram dual;
  dual.gains.assign(tables.size(), 1.0L);
  for (std::size_t g = 0; g < rules.groups(); ++g) {
    dual.gains.push_back(-static_cast<long double>(rules.left(g, 0)));
  }
  for (const Mask kernels : test::PlainPartitions(tables, test::AlikeKernels::Free).feasible()) {
    auto& row = dual.rows.emplace_back(dual.gains.size(), 0.0L);
    for (std::size_t p = 0; p < tables.size(); ++p) row[p] = kernels >> p & 1U;
    const auto first = static_cast<std::size_t>(std::countr_zero(kernels));
    row[tables.size() + rules.group(tables.kernel(first).backward)] = -1.0L;
    dual.most.push_back(static_cast<long double>(plain.time(kernels)));
  }
  return test::maximum(std::move(dual));
}

}  // namespace

TEST_CASE("no partition takes less than its duals, and no way to go on less than the bound") {
  int worlds = 0;
  int charged = 0;
  int rests = 0;
  int tight = 0;
  int better = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    const Problem problem = dual_world(seed);
    const auto context = test::open_point(problem, seed);
    const FusionTables& tables = context->tables;
    const auto duals = find_duals(tables);
    if (!duals) continue;
    ++worlds;
    test::PlainCompletions plain(tables);
    check_valid(*duals, tables, plain);
    check_gains(*duals, tables);
    check_alike(*duals, tables);
    charged += duals->charge != std::array<FineTicks, 2>{};

    std::mt19937_64 random(seed);
    for (Mask rest = 1; rest <= plain.partitions().all(); ++rest) {
      if (!plain.partitions().is_rest(rest)) continue;
      const bool whole = rest == plain.partitions().all();
      const auto index = static_cast<std::int32_t>(whole ? 0 : pick(random, 0, plain.limit() - 1));
      const Ticks best = plain.best(rest, index);
      if (best >= kNever) continue;
      CAPTURE(rest);
      CAPTURE(index);
      const FusionNode node = node_at(tables, rest, index);
      const Ticks bound = context->search.bound(node, *duals);
      REQUIRE(bound <= best);
      ++rests;
      tight += bound == best;
      better += bound > tables.least_time(context->search.rest(node));
    }
  }
  CHECK(worlds > 3500);
  CHECK(charged > 200);
  CHECK(rests > 20'000);
  CHECK(tight > rests * 2 / 5);
  CHECK(better > rests / 4);
}

TEST_CASE("at the root the duals prove all that duals can") {
  int worlds = 0;
  int as_good = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    const Problem problem = dual_world(seed);
    const auto context = test::open_point(problem, seed);
    const FusionTables& tables = context->tables;
    const auto duals = find_duals(tables);
    test::PlainCompletions plain(tables);
    if (!duals || plain.best(plain.partitions().all(), 0) >= kNever) continue;
    ++worlds;
    const Ticks bound = context->search.bound(node_at(tables, plain.partitions().all(), 0), *duals);
    // Less by rounding alone, or where the charge would have to be very high.
    as_good += static_cast<long double>(bound) >= fractional_cover(tables, plain) - 1.0L;
  }
  CHECK(worlds > 1000);
  CHECK(as_good > worlds * 9 / 10);
}

TEST_CASE("however the steps are dealt out the duals are valid and as good") {
  int calls_in_all = 0;
  int worlds = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    const Problem problem = dual_world(seed);
    const auto context = test::open_point(problem, seed);
    const FusionTables& tables = context->tables;
    const auto at_once = find_duals(tables);
    const auto in_steps = find_duals_bit_by_bit(tables, calls_in_all);
    REQUIRE(in_steps.has_value() == at_once.has_value());
    if (!at_once) continue;
    ++worlds;
    const test::PlainCompletions plain(tables);
    check_valid(*in_steps, tables, plain);
    const FusionNode root = node_at(tables, plain.partitions().all(), 0);
    // But for the last unit of rounding.
    REQUIRE(std::abs(context->search.bound(root, *in_steps) -
                     context->search.bound(root, *at_once)) <= 1);
    // Calls alike give the same, bit for bit.
    REQUIRE(same(*in_steps, *find_duals_bit_by_bit(tables, calls_in_all)));
    REQUIRE(same(*at_once, *find_duals(tables)));
  }
  CHECK(worlds > 1500);
  CHECK(calls_in_all > 10 * worlds);
}

TEST_CASE("whoever helps, the duals are the same, bit by bit" * doctest::test_suite("slow")) {
  SharedWork work;
  const test::Helpers helpers(work, 1);
  int compared = 0;
  // Again if the helper had no processor.
  do {
    // Of fewer kernels nothing is shared.
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      CAPTURE(seed);
      const Problem problem = long_chain(seed);
      const auto context = test::open_point(problem, seed);
      const FusionTables& tables = context->tables;
      ExactDualSearch alone(tables);
      ExactDualSearch shared(tables, &work);
      std::mt19937_64 random(seed);
      bool ended = false;
      for (int call = 0; call < 40 && !ended; ++call) {
        const std::int64_t steps = test::pick(random, 1, 100'000);
        ended = alone.advance(steps);
        REQUIRE(shared.advance(steps) == ended);
      }
      const auto duals = alone.take();
      const auto duals_shared = shared.take();
      REQUIRE(duals_shared.has_value() == duals.has_value());
      if (!duals) continue;
      REQUIRE(same(*duals_shared, *duals));
      ++compared;
    }
  } while (helpers.helped() <= 10);
  CHECK(compared > 2);
}

TEST_CASE("no partition of a larger graph takes less than its duals") {
  constexpr int kAttempts = 13;
  int proven = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed, {.kernels = 30, .assignments = 1e300});
    const auto context = test::open_point(problem, seed);
    const FusionTables& tables = context->tables;
    if (tables.size() < 8) continue;
    const PartitionDuals* duals = context->point->duals.after(kAttempts).duals;
    if (duals == nullptr) continue;
    // Too many sets to try; tests/engine/duals/partition_pricing_test.cpp judges the enumeration.
    const PartitionPricing pricing(tables);
    std::int64_t steps = 4'000'000;
    const auto found = pricing.find(*duals, {.threshold = 0, .most = 1}, steps);
    if (!found.complete) continue;
    ++proven;
    REQUIRE(found.partitions.empty());
  }
  CHECK(proven > 20);
}

}  // namespace dfsearch
