// The enumeration of partitions that cost less than their duals, against all sets of kernels.

#include "engine/duals/partition_pricing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "engine/duals/frontier_plan.hpp"
#include "engine/duals/frontier_worth.hpp"
#include "support/helpers.hpp"
#include "support/model_worlds.hpp"
#include "support/open_point.hpp"
#include "support/plain_completions.hpp"
#include "support/random_duals.hpp"
#include "support/random_problem.hpp"
#include "support/symmetric_problem.hpp"

namespace dfsearch {
namespace {

using test::lowest;
using test::Mask;
using test::pick;
using test::random_duals;

constexpr std::int64_t kEnoughStates = 1'000'000;
constexpr std::size_t kAllStates = 1'000;  // more than there are subsets

struct PlainPartition {
  Ticks time = 0;
  bool convex = false;  // else only the order of partitions forbids it
};

/// Every set that has a time.
std::map<Mask, PlainPartition> all_partitions(const FusionTables& tables) {
  const test::PlainPartitions plain(tables);
  std::map<Mask, PlainPartition> partitions;
  for (Mask kernels = 1; kernels <= plain.all(); ++kernels) {
    const auto parts = plain.parts_of(kernels);
    if (!parts) continue;
    partitions[kernels] = {.time = plain.time(*parts), .convex = plain.is_convex(kernels)};
  }
  return partitions;
}

using Way = PartitionPricing::Way;

Way any_way(std::mt19937_64& random) {
  return pick(random, 0, 1) == 0 ? Way::Topological : Way::Frontier;
}

/// First kernels at a time: one after the other, some, or as many as the graph's size suggests.
std::size_t any_at_once(std::mt19937_64& random) {
  return static_cast<std::size_t>(pick(random, 0, 6));
}

/// Steps of a branch: none, some, or as many as suit large graphs.
std::int64_t any_steps_of_branch(std::mt19937_64& random) {
  return pick(random, 0, 3) == 0 ? PartitionPricing::Query{}.steps_of_branch : pick(random, 0, 60);
}

/// Of the first kernel of a set, among the steps of all plans or in the order of the kernels.
std::size_t first_place(const FusionTables& tables, const PartitionPricing& pricing,
                        const KernelSet& kernels) {
  if (!pricing.is_along_frontier()) {
    const auto& order = pricing.order();
    const auto is_inside = [&](std::uint32_t p) { return kernels.contains(p); };
    return static_cast<std::size_t>(std::find_if(order.begin(), order.end(), is_inside) -
                                    order.begin());
  }
  const auto plans = frontier_plans(tables);
  REQUIRE(plans);
  std::size_t place = 0;
  for (const FrontierPlanOfGroup& of : *plans) {
    for (const FrontierStep& step : of.plan.steps) {
      if (kernels.contains(step.kernel)) return place;
      ++place;
    }
  }
  return place;
}

bool sorted(const std::vector<PartitionColumn>& list) {
  return std::is_sorted(
      list.begin(), list.end(),
      [](const PartitionColumn& a, const PartitionColumn& b) { return a.excess > b.excess; });
}

}  // namespace

TEST_CASE("all partitions above a threshold are listed, each once, with their times") {
  int listed = 0;
  int not_convex = 0;
  int below = 0;
  int escaped = 0;
  int allocated = 0;
  test::for_each_priced_world(20000, [&](const FusionTables& tables, std::mt19937_64& random) {
    const std::map<Mask, PlainPartition> partitions = all_partitions(tables);
    const PartitionPricing pricing(tables, PartitionPricing::Sets::Ordered, any_way(random));
    const Duals duals = random_duals(pricing, tables.size(), random);
    std::vector<FineTicks> thresholds{lowest(duals), 0};
    // Just what some partition has: that one is not above it.
    if (!partitions.empty()) {
      auto any = partitions.begin();
      std::advance(any, pick(random, 0, static_cast<std::int64_t>(partitions.size()) - 1));
      thresholds.push_back(test::excess_of(duals, tables, any->first, any->second.time));
    }
    for (const FineTicks threshold : thresholds) {
      CAPTURE(threshold);
      std::int64_t steps = kEnoughStates;
      const auto found = pricing.find(duals,
                                      {.threshold = threshold,
                                       .most = kAllStates,
                                       .at_once = any_at_once(random),
                                       .steps_of_branch = any_steps_of_branch(random)},
                                      steps);
      REQUIRE(found.complete);
      REQUIRE(sorted(found.partitions));
      std::map<Mask, PlainPartition> left = partitions;
      for (const PartitionColumn& partition : found.partitions) {
        const Mask kernels = test::mask_of(partition.kernels);
        CAPTURE(kernels);
        REQUIRE(left.contains(kernels));
        REQUIRE(partition.time == left[kernels].time);
        REQUIRE(partition.excess == test::excess_of(duals, tables, kernels, partition.time));
        REQUIRE(partition.excess > threshold);
        REQUIRE(partition.size == std::popcount(kernels));
        not_convex += !left[kernels].convex;
        left.erase(kernels);
        ++listed;
        escaped += partition.size == 1 && tables.kernel(partition.kernels.first_from(0)).escapes;
        allocated += tables.kernel(0).options != nullptr;
      }
      for (const auto& [kernels, partition] : left) {
        CAPTURE(kernels);
        if (!partition.convex) continue;
        REQUIRE(test::excess_of(duals, tables, kernels, partition.time) <= threshold);
        ++below;
      }
    }
  });
  CHECK(listed > 100'000);
  CHECK(not_convex == 0);
  CHECK(below > 50'000);
  CHECK(escaped > 1000);
  CHECK(allocated > 10'000);
}

TEST_CASE("of too many partitions those of the greatest excess are kept") {
  int cut = 0;
  test::for_each_priced_world(2000, [&](const FusionTables& tables, std::mt19937_64& random) {
    const PartitionPricing pricing(tables, PartitionPricing::Sets::Ordered, any_way(random));
    const Duals duals = random_duals(pricing, tables.size(), random);
    const FineTicks threshold = lowest(duals);
    std::int64_t steps = kEnoughStates;
    const auto all = pricing.find(duals, {.threshold = threshold, .most = kAllStates}, steps);
    REQUIRE(all.complete);
    for (const std::size_t most : {1U, 2U, 5U}) {
      CAPTURE(most);
      std::int64_t more_steps = kEnoughStates;
      const auto some = pricing.find(duals,
                                     {.threshold = threshold,
                                      .most = most,
                                      .at_once = any_at_once(random),
                                      .steps_of_branch = any_steps_of_branch(random)},
                                     more_steps);
      REQUIRE(some.complete);
      REQUIRE(some.partitions.size() == std::min(most, all.partitions.size()));
      for (std::size_t i = 0; i < some.partitions.size(); ++i) {
        REQUIRE(some.partitions[i].excess == all.partitions[i].excess);
      }
      cut += all.partitions.size() > 4 * most;
    }
  });
  CHECK(cut > 200);
}

TEST_CASE("an enumeration whose steps do not suffice says so") {
  int interrupted = 0;
  int some = 0;
  test::for_each_priced_world(2000, [&](const FusionTables& tables, std::mt19937_64& random) {
    const PartitionPricing pricing(tables, PartitionPricing::Sets::Ordered, any_way(random));
    const Duals duals = random_duals(pricing, tables.size(), random);
    const FineTicks threshold = lowest(duals);
    const PartitionPricing::Query query{.threshold = threshold,
                                        .most = kAllStates,
                                        .at_once = any_at_once(random),
                                        .steps_of_branch = any_steps_of_branch(random)};
    std::int64_t left = kEnoughStates;
    const auto all = pricing.find(duals, query, left);
    const std::int64_t needed = kEnoughStates - left;
    REQUIRE(needed > 0);
    std::int64_t enough = needed;
    REQUIRE(pricing.find(duals, query, enough).complete);
    REQUIRE(enough == 0);
    std::int64_t less = pick(random, 0, needed - 1);
    const auto cut = pricing.find(duals, query, less);
    REQUIRE_FALSE(cut.complete);
    REQUIRE(sorted(cut.partitions));
    ++interrupted;
    some += !cut.partitions.empty() && cut.partitions.size() < all.partitions.size();
    for (const PartitionColumn& partition : cut.partitions) {
      REQUIRE(std::any_of(all.partitions.begin(), all.partitions.end(),
                          [&](const PartitionColumn& known) {
                            return known.kernels == partition.kernels &&
                                   known.time == partition.time && known.excess == partition.excess;
                          }));
    }
  });
  CHECK(interrupted > 300);
  CHECK(some > 100);
}

TEST_CASE("enumerations along a frontier that go on where the last one ended miss nothing") {
  int continued = 0;
  int missing = 0;
  test::for_each_priced_world(2000, [&](const FusionTables& tables, std::mt19937_64& random) {
    const PartitionPricing pricing(tables, PartitionPricing::Sets::Ordered, Way::Frontier);
    const Duals duals = random_duals(pricing, tables.size(), random);
    const FineTicks threshold = lowest(duals);
    const std::int64_t branch = any_steps_of_branch(random);
    std::int64_t left = kEnoughStates;
    const auto all = pricing.find(
        duals, {.threshold = threshold, .most = kAllStates, .steps_of_branch = branch}, left);
    std::int64_t less = pick(random, 0, kEnoughStates - left - 1);
    const auto cut = pricing.find(
        duals, {.threshold = threshold, .most = kAllStates, .steps_of_branch = branch}, less);
    REQUIRE_FALSE(cut.complete);
    // What is missing begins there or later.
    for (const PartitionColumn& set : all.partitions) {
      const auto same = [&](const PartitionColumn& other) { return other.kernels == set.kernels; };
      if (std::any_of(cut.partitions.begin(), cut.partitions.end(), same)) continue;
      REQUIRE(first_place(tables, pricing, set.kernels) >= cut.next);
      ++missing;
    }
    const auto again = pricing.find(
        duals,
        {.threshold = threshold, .most = kAllStates, .first = cut.next, .steps_of_branch = branch},
        left);
    REQUIRE(again.complete);
    REQUIRE(again.partitions.size() == all.partitions.size());
    continued += cut.next > 0;
  });
  CHECK(continued > 500);
  CHECK(missing > 5000);
}

TEST_CASE("an enumeration that has found enough ends, and misses nothing before where it goes on") {
  int ended = 0;
  int missing = 0;
  test::for_each_priced_world(3000, [&](const FusionTables& tables, std::mt19937_64& random) {
    const PartitionPricing pricing(tables, PartitionPricing::Sets::Ordered, any_way(random));
    const Duals duals = random_duals(pricing, tables.size(), random);
    PartitionPricing::Query query{.threshold = lowest(duals),
                                  .most = kAllStates,
                                  .at_once = any_at_once(random),
                                  .steps_of_branch = any_steps_of_branch(random)};
    std::int64_t left = kEnoughStates;
    const auto all = pricing.find(duals, query, left);
    query.enough = static_cast<std::size_t>(pick(random, 1, 12));
    std::int64_t left_of_some = kEnoughStates;
    const auto some = pricing.find(duals, query, left_of_some);
    REQUIRE(left_of_some >= left);
    REQUIRE(sorted(some.partitions));
    REQUIRE(some.partitions.size() <= all.partitions.size());
    if (some.complete) {
      REQUIRE(some.partitions.size() == all.partitions.size());
      return;
    }
    ++ended;
    REQUIRE(some.partitions.size() >= query.enough);
    for (const PartitionColumn& set : all.partitions) {
      const auto same = [&](const PartitionColumn& other) { return other.kernels == set.kernels; };
      if (std::any_of(some.partitions.begin(), some.partitions.end(), same)) continue;
      REQUIRE(first_place(tables, pricing, set.kernels) >= some.next);
      ++missing;
    }
  });
  CHECK(ended > 500);
  CHECK(missing > 5000);
}

TEST_CASE("the same is found whoever helps, whatever the steps") {
  SharedWork work;
  const test::Helpers helpers(work, 1);
  int incomplete = 0;
  const auto compare = [&](const FusionTables& tables, std::mt19937_64& random) {
    const Way way = any_way(random);
    const PartitionPricing alone(tables, PartitionPricing::Sets::Ordered, way);
    const PartitionPricing shared(tables, PartitionPricing::Sets::Ordered, way, &work);
    const Duals duals = random_duals(alone, tables.size(), random);
    const PartitionPricing::Query query{.threshold = lowest(duals),
                                        .most = static_cast<std::size_t>(pick(random, 1, 40)),
                                        .best_only = pick(random, 0, 1) == 0,
                                        .enough = static_cast<std::size_t>(pick(random, 1, 100)),
                                        .trial = pick(random, 0, 20),
                                        .at_once = static_cast<std::size_t>(pick(random, 2, 6)),
                                        .steps_of_branch = any_steps_of_branch(random)};
    std::int64_t needed = kEnoughStates;
    static_cast<void>(alone.find(duals, query, needed));
    needed = kEnoughStates - needed;
    for (const std::int64_t steps : {needed, pick(random, 0, needed - 1)}) {
      CAPTURE(steps);
      std::int64_t left = steps;
      const auto found = alone.find(duals, query, left);
      std::int64_t left_shared = steps;
      const auto found_shared = shared.find(duals, query, left_shared);
      REQUIRE(left_shared == left);
      REQUIRE(found_shared.complete == found.complete);
      REQUIRE(found_shared.next == found.next);
      REQUIRE(found_shared.partitions.size() == found.partitions.size());
      for (std::size_t i = 0; i < found.partitions.size(); ++i) {
        REQUIRE(found_shared.partitions[i].kernels == found.partitions[i].kernels);
        REQUIRE(found_shared.partitions[i].excess == found.partitions[i].excess);
      }
      incomplete += !found.complete;
    }
  };
  // Again if the helper had no processor.
  do {
    test::for_each_priced_world(4000, compare);
  } while (helpers.helped() <= 100);
  CHECK(incomplete > 500);
}

TEST_CASE("along a frontier nothing is told of duals that cannot be added up") {
  int told = 0;
  test::for_each_priced_world(500, [&](const FusionTables& tables, std::mt19937_64& random) {
    const PartitionPricing pricing(tables, PartitionPricing::Sets::Ordered, Way::Frontier);
    const PartitionPricing slow(tables);
    Duals duals = random_duals(pricing, tables.size(), random);
    const auto any =
        static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(tables.size()) - 1));
    for (const FineTicks great : {kGreatestExcess - 1, kGreatestExcess, kGreatestDual}) {
      CAPTURE(great);
      std::fill(duals.kernels.begin(), duals.kernels.end(), 0);
      duals.kernels[any] = great;
      std::int64_t steps = kEnoughStates;
      const auto found = pricing.find(duals, {.threshold = 0, .most = kAllStates}, steps);
      if (found.complete) {
        std::int64_t more_steps = kEnoughStates;
        const auto all = slow.find(duals, {.threshold = 0, .most = kAllStates}, more_steps);
        REQUIRE(found.partitions.size() == all.partitions.size());
        ++told;
      } else {
        REQUIRE(found.partitions.empty());
        REQUIRE(steps < 0);
      }
      // A kernel that may share a partition with none is in no plan.
      REQUIRE((!found.complete || great < kGreatestExcess || found.partitions.size() <= 1));
    }
  });
  CHECK(told > 100);
}

/// The sets that exchanges make of this one.
std::set<Mask> images(Mask kernels, const KernelOrder& order) {
  std::set<Mask> found{kernels};
  std::vector<Mask> fresh{kernels};
  while (!fresh.empty()) {
    const Mask set = fresh.back();
    fresh.pop_back();
    for (const KernelOrder::Exchange& exchange : order.exchanges()) {
      Mask image = set;
      for (const auto& [a, b] : exchange) {
        image &= ~(test::bit(a) | test::bit(b));
        if ((set & test::bit(a)) != 0) image |= test::bit(b);
        if ((set & test::bit(b)) != 0) image |= test::bit(a);
      }
      if (found.insert(image).second) fresh.push_back(image);
    }
  }
  return found;
}

TEST_CASE("of sets that exchanges make of each other one is listed, and no set is forgotten") {
  int listed = 0;
  int made = 0;
  int classes = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::symmetric_problem(seed);
    const auto context = test::open_point(problem, seed);
    const FusionTables& tables = context->tables;
    const KernelOrder& order = tables.order();
    const PartitionPricing pricing(tables, PartitionPricing::Sets::OneOfEach);
    std::mt19937_64 random(seed);
    Duals duals = random_duals(pricing, tables.size(), random);
    for (std::size_t p = 0; p < tables.size(); ++p) {
      duals.kernels[p] = duals.kernels[order.first_alike()[p]];
    }
    const FineTicks threshold = seed % 3 == 0 ? 0 : lowest(duals);
    std::int64_t steps = kEnoughStates;
    const auto found = pricing.find(duals,
                                    {.threshold = threshold,
                                     .most = kAllStates,
                                     .at_once = any_at_once(random),
                                     .steps_of_branch = any_steps_of_branch(random)},
                                    steps);
    REQUIRE(found.complete);
    const test::PlainPartitions plain(tables, test::AlikeKernels::Free);
    std::set<Mask> known;
    for (const PartitionColumn& partition : found.partitions) {
      const Mask kernels = test::mask_of(partition.kernels);
      CAPTURE(kernels);
      REQUIRE(plain.is_convex(kernels));
      const auto parts = plain.parts_of(kernels);
      REQUIRE(parts);
      REQUIRE(partition.time == plain.time(*parts));
      REQUIRE(partition.excess == test::excess_of(duals, tables, kernels, partition.time));
      REQUIRE(partition.excess > threshold);
      const std::set<Mask> alike = images(kernels, order);
      classes += !known.contains(kernels);
      known.insert(alike.begin(), alike.end());
      ++listed;
    }
    for (const Mask kernels : plain.feasible()) {
      CAPTURE(kernels);
      const Ticks time = plain.time(*plain.parts_of(kernels));
      REQUIRE(known.contains(kernels) ==
              (test::excess_of(duals, tables, kernels, time) > threshold));
      made += known.contains(kernels);
    }
  }
  // Neighbours in a row of kernels that are alike are compared, not all: a few come twice.
  CHECK(listed < classes * 101 / 100);
  CHECK(made > listed * 3 / 2);
}

TEST_CASE("a kernel by itself takes what its partition takes") {
  test::for_each_priced_world(2000, [](const FusionTables& tables, std::mt19937_64&) {
    const test::PlainPartitions plain(tables);
    const PartitionPricing pricing(tables);
    for (std::size_t p = 0; p < tables.size(); ++p) {
      CAPTURE(p);
      const auto parts = plain.parts_of(test::bit(p));
      if (parts) REQUIRE(pricing.time_alone(p) == plain.time(*parts));
    }
  });
}

// Three kernels of 2 B each of which gains 2^50 ticks, and room for two of them: a byte is worth
// 2^57 fine ticks.  Those of 2^20 B would cost 2^77, which no whole number of 64 bits holds.
TEST_CASE("a weight that is worth more than there are whole numbers hides no partition") {
  Problem problem = test::idle_problem(1);
  // No two of them are alike.
  const std::vector<Kernel> kernels{
      test::weight_gemm("a", 1, 1, 1), test::weight_gemm("b", 1, 1, 2),
      test::weight_gemm("c", 1, 1, 3), test::weight_gemm("x", 1 << 10, 1 << 9, 1),
      test::weight_gemm("y", 1 << 10, 1 << 9, 2)};
  problem.workload.graph = DataflowGraph(kernels, {});
  problem.system.accelerator.sram = problem.workload.word * 2.0;
  const auto context = test::open_point(problem, 0);
  const PartitionPricing pricing(context->tables);
  Duals duals;
  for (std::size_t p = 0; p < kernels.size(); ++p) {
    const bool light = context->tables.kernel(p).weight <= problem.system.accelerator.sram;
    duals.kernels.push_back(light ? FineTicks{1} << 58 : 0);
  }
  std::int64_t steps = kEnoughStates;
  const auto found = pricing.find(duals, {.threshold = 0, .most = kAllStates}, steps);
  REQUIRE(found.complete);
  CHECK(found.partitions.size() == 6);  // each of the light ones and each pair
}

TEST_CASE("a price that is no whole number of 64 bits stops at the greatest dual") {
  CHECK(whole_fine_ticks(0.0L) == 0);
  CHECK(whole_fine_ticks(41.9L) == 41);
  CHECK(whole_fine_ticks(0x1p62L - 1.0L) == kGreatestDual - 1);
  for (const long double value : {0x1p62L, 0x1p63L, 0x1p64L, 0x1p100L}) {
    CHECK(whole_fine_ticks(value) == kGreatestDual);
  }
}

TEST_CASE("each part of the time is what that overlap cannot hide") {
  // Compute 5, network 3, memory 7.
  CHECK(parts(Overlap::Perfect, 5, 3, 7) == KernelParts{5, 3, 7});
  CHECK(parts(Overlap::ComputeMemory, 5, 3, 7) == KernelParts{8, 10, 0});
  CHECK(parts(Overlap::None, 5, 3, 7) == KernelParts{15, 0, 0});
}

}  // namespace dfsearch
