// The enumeration of partitions that cost less than their duals, against all sets of kernels.

#include "engine/duals/partition_pricing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
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

/// First kernels at a time: one after the other, some, or as many as the graph's size suggests.
std::size_t any_at_once(std::mt19937_64& random) {
  return static_cast<std::size_t>(pick(random, 0, 6));
}

/// Steps of a branch: none, some, or as many as suit large graphs.
std::int64_t any_steps_of_branch(std::mt19937_64& random) {
  return pick(random, 0, 3) == 0 ? PartitionPricing::Query{}.steps_of_branch : pick(random, 0, 60);
}

/// Of the first kernel of a set, among the steps of all plans.
std::size_t first_place(const FusionTables& tables, const KernelSet& kernels) {
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
    const PartitionPricing pricing(tables);
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
    const PartitionPricing pricing(tables);
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
    const PartitionPricing pricing(tables);
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

TEST_CASE("enumerations that go on where the last one ended miss nothing") {
  int continued = 0;
  int missing = 0;
  test::for_each_priced_world(2000, [&](const FusionTables& tables, std::mt19937_64& random) {
    const PartitionPricing pricing(tables);
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
      REQUIRE(first_place(tables, set.kernels) >= cut.next);
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
    const PartitionPricing pricing(tables);
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
      REQUIRE(first_place(tables, set.kernels) >= some.next);
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
    const PartitionPricing alone(tables);
    const PartitionPricing shared(tables, PartitionPricing::Sets::Ordered, &work);
    const Duals duals = random_duals(alone, tables.size(), random);
    const PartitionPricing::Query query{.threshold = lowest(duals),
                                        .most = static_cast<std::size_t>(pick(random, 1, 40)),
                                        .enough = static_cast<std::size_t>(pick(random, 1, 100)),
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

TEST_CASE("nothing is told of duals that cannot be added up") {
  int told = 0;
  test::for_each_priced_world(500, [&](const FusionTables& tables, std::mt19937_64& random) {
    const PartitionPricing pricing(tables);
    const std::map<Mask, PlainPartition> partitions = all_partitions(tables);
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
        const auto overpaid =
            std::count_if(partitions.begin(), partitions.end(), [&](const auto& partition) {
              const auto& [kernels, its] = partition;
              return its.convex && test::excess_of(duals, tables, kernels, its.time) > 0;
            });
        REQUIRE(std::ssize(found.partitions) == overpaid);
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

TEST_CASE("each part of the time is what that overlap cannot hide") {
  // Compute 5, network 3, memory 7.
  CHECK(parts(Overlap::Perfect, 5, 3, 7) == KernelParts{5, 3, 7});
  CHECK(parts(Overlap::ComputeMemory, 5, 3, 7) == KernelParts{8, 10, 0});
  CHECK(parts(Overlap::None, 5, 3, 7) == KernelParts{15, 0, 0});
}

}  // namespace dfsearch
