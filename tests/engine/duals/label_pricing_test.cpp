// Sets that duals overpay, found by labels, against all sets of kernels.

#include "engine/duals/label_pricing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "engine/duals/column_generation.hpp"
#include "support/expert_problem.hpp"
#include "support/open_point.hpp"
#include "support/plain_partitions.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

using test::bit;
using test::Mask;
using test::pick;

constexpr std::int64_t kEnoughLabels = 1'000'000'000;

/// What a set is weights by its definition; nothing if SRAM does not hold it.
std::optional<FineTicks> excess_of(const FusionTables& tables, const Duals& duals,
                                   std::size_t group, Mask kernels) {
  Ticks compute = 0;
  Ticks network = 0;
  Ticks memory = 0;
  Bytes sram{};
  FineTicks dual = 0;
  const auto has = [&](std::size_t p) { return (kernels & bit(p)) != 0; };
  for (std::size_t p = 0; p < tables.size(); ++p) {
    if (has(p)) {
      const KernelCosts& kernel = tables.kernel(p);
      compute += kernel.compute;
      network += kernel.network;
      memory += kernel.explicit_memory;
      sram += kernel.weight;
      dual += duals.kernels[p];
    }
    for (const Arc& arc : tables.outputs(p)) {
      if (has(p) && has(arc.other)) sram += arc.fused;
      if (has(p) == has(arc.other)) continue;
      sram += arc.streamed;
      memory += arc.transfer;
    }
  }
  if (sram > tables.sram()) return std::nullopt;
  const KernelParts own = parts(tables.problem().execution.overlap, compute, network, memory);
  return dual - *std::max_element(own.begin(), own.end()) * kFinePerTick - duals.charge[group];
}

Mask members(const LabelPricing& pricing) {
  Mask all = 0;
  for (const DecompositionStep& step : pricing.path().steps) all |= bit(step.kernel);
  return all;
}

Duals random_duals(const FusionTables& tables, std::mt19937_64& random) {
  Duals duals;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    const KernelCosts& kernel = tables.kernel(p);
    Ticks alone = kernel.compute + kernel.network + kernel.explicit_memory;
    for (const Arc& arc : tables.inputs(p)) alone += arc.transfer;
    for (const Arc& arc : tables.outputs(p)) alone += arc.transfer;
    duals.kernels.push_back(alone / 10 * pick(random, 0, 10) * kFinePerTick +
                            pick(random, 0, kFinePerTick - 1));
  }
  for (FineTicks& charge : duals.charge) {
    if (pick(random, 0, 2) == 0) charge = duals.kernels.front() / 2;
  }
  return duals;
}

}  // namespace

TEST_CASE("the set that is overpaid most is found, if any is overpaid") {
  int found_some = 0;
  int found_none = 0;
  int apart = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    const Problem problem = seed % 3 == 0 ? test::random_problem(seed, {.assignments = 1e9})
                                          : test::expert_problem(seed);
    if (problem.execution.style == Style::KernelByKernel) continue;
    const auto context = test::open_point(problem, seed);
    const FusionTables& tables = context->tables;
    std::mt19937_64 random(seed);
    auto paths =
        path_decompositions(tables);  // as they are: kernels that look alike need what they do
    REQUIRE(paths);
    for (auto& [path, group] : *paths) {
      LabelPricing pricing(tables, std::move(path), group, std::make_shared<CompletionBounds>());
      const Duals duals = random_duals(tables, random);
      const Mask all = members(pricing);
      std::optional<FineTicks> most;
      for (Mask set = all; set != 0; set = (set - 1) & all) {
        const auto excess = excess_of(tables, duals, pricing.group(), set);
        if (excess && (!most || *excess > *most)) most = excess;
      }
      std::int64_t steps = kEnoughLabels;
      const auto found = pricing.find(duals, 0, steps);
      REQUIRE(found.end == LabelPricing::Status::Complete);
      if (!most || *most <= 0) REQUIRE(found.partitions.empty());
      if (most && *most > pricing.noise(duals)) {
        REQUIRE(!found.partitions.empty());
        REQUIRE(found.partitions.front().excess == *most);
        ++found_some;
      } else {
        ++found_none;
      }
      // Sets that share no kernels come first, then sets that each share a kernel with a former
      // one.
      Mask covered = 0;
      bool is_apart = true;
      for (const PartitionColumn& column : found.partitions) {
        const Mask kernels = test::mask_of(column.kernels);
        REQUIRE((kernels & ~all) == 0);
        REQUIRE(excess_of(tables, duals, pricing.group(), kernels) == column.excess);
        is_apart = is_apart && (kernels & covered) == 0;
        REQUIRE((is_apart || (kernels & covered) != 0));
        apart += is_apart && covered != 0;
        covered |= kernels;
      }
      // Of a beam some, and no others.
      steps = kEnoughLabels;
      const auto some = pricing.find(duals, 2, steps);
      REQUIRE(some.end == LabelPricing::Status::Complete);
      for (const PartitionColumn& column : some.partitions) {
        REQUIRE(column.excess <= *most);
        REQUIRE(excess_of(tables, duals, pricing.group(), test::mask_of(column.kernels)) ==
                column.excess);
      }
    }
  }
  CHECK(found_some > 400);
  CHECK(found_none > 100);
  CHECK(apart > 100);
}

TEST_CASE("bit by bit the same sets are found as at once") {
  int calls = 0;
  int with_sets = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    const Problem problem = seed % 3 == 0 ? test::random_problem(seed, {.assignments = 1e9})
                                          : test::expert_problem(seed);
    if (problem.execution.style == Style::KernelByKernel) continue;
    const auto context = test::open_point(problem, seed);
    const FusionTables& tables = context->tables;
    std::mt19937_64 random(seed);
    auto pricings = label_pricings(tables);
    REQUIRE(pricings);
    for (LabelPricing& pricing : *pricings) {
      const Duals duals = random_duals(tables, random);
      const auto beam = static_cast<std::size_t>(pick(random, 0, 2));
      Work all = kEnoughLabels;
      const auto at_once = pricing.find(duals, beam, all);
      REQUIRE(at_once.end == LabelPricing::Status::Complete);
      const Work slice = pick(random, 1, 500);
      Work taken = 0;
      LabelPricing::Columns found{.partitions = {}, .end = LabelPricing::Status::OutOfWork};
      while (found.end == LabelPricing::Status::OutOfWork) {
        Work work = slice;
        found = pricing.find(duals, beam, work);
        taken += slice - work;
        ++calls;
        if (found.end == LabelPricing::Status::OutOfWork) REQUIRE(work <= 0);
      }
      REQUIRE(found.end == LabelPricing::Status::Complete);
      REQUIRE(taken == kEnoughLabels - all);
      REQUIRE(std::equal(found.partitions.begin(), found.partitions.end(),
                         at_once.partitions.begin(), at_once.partitions.end(),
                         [](const PartitionColumn& a, const PartitionColumn& b) {
                           return a.kernels == b.kernels && a.excess == b.excess &&
                                  a.time == b.time && a.group == b.group;
                         }));
      with_sets += !found.partitions.empty();
    }
  }
  CHECK(calls > 3'000);
  CHECK(with_sets > 300);
}

}  // namespace dfsearch
