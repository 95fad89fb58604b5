// What makes enumerations short: relaxations of the excess, and states that replace others.

#include "engine/duals/partition_enumeration.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "support/plain_completions.hpp"
#include "support/random_duals.hpp"

namespace dfsearch {
namespace {

using test::for_each_priced_world;
using test::lowest;
using test::Mask;
using test::pick;
using test::random_duals;

constexpr std::int64_t kEnoughSets = 1'000'000;
constexpr std::size_t kAll = 1'000;  // more than there are subsets

/// The greatest excess of a partition that holds `inside` and, of the rest, only what is open; the
/// charge is left out.
FineTicks greatest_excess(const FusionTables& tables, const Duals& duals,
                          const std::vector<Mask>& feasible, Mask inside, Mask open) {
  const test::PlainPartitions plain(tables);
  FineTicks greatest = std::numeric_limits<FineTicks>::min();  // there is none
  for (const Mask kernels : feasible) {
    if ((kernels & inside) != inside || (kernels & ~(inside | open)) != 0) continue;
    FineTicks excess = -plain.time(*plain.parts_of(kernels)) * kFinePerTick;
    for (std::size_t p = 0; p < tables.size(); ++p) {
      if ((kernels & test::bit(p)) != 0) excess += duals.kernels[p];
    }
    greatest = std::max(greatest, excess);
  }
  return greatest;
}

}  // namespace

TEST_CASE("no partition has more excess than the bound of any decisions, tight or not") {
  int met = 0;
  int tightened = 0;
  for_each_priced_world(4000, [&](const FusionTables& tables, std::mt19937_64& random) {
    const PartitionPricing pricing(tables);
    const Duals duals = random_duals(pricing, tables.size(), random);
    std::vector<Mask> feasible = test::PlainPartitions(tables).feasible();
    // A kernel that only fits if its weight is cut is not one the bound is for.
    std::erase_if(feasible, [&](Mask kernels) {
      const std::size_t first = test::set_of(tables.size(), kernels).first_from(0);
      return tables.kernel(first).escapes && kernels == test::bit(first);
    });
    ExcessBound bound(tables, duals);
    KernelSet inside(tables.size());
    KernelSet open(tables.size());
    for (std::size_t p = 0; p < tables.size(); ++p) open.insert(p);
    std::vector<std::size_t> decided;
    for (int step = 0; step < 40; ++step) {
      const std::int64_t what = pick(random, 0, 9);
      const auto p =
          static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(tables.size()) - 1));
      if (what == 0) {
        const FineTicks before = bound.most();
        bound.tighten(inside, open);
        tightened += bound.most() < before;
      } else if (what < 4 && !decided.empty()) {
        const std::size_t last = decided.back();
        decided.pop_back();
        bound.take_back(last, inside, open);
        inside.erase(last);
        open.insert(last);
      } else if (open.contains(p)) {
        const bool joins = what % 2 == 0;
        open.erase(p);
        if (joins) inside.insert(p);
        bound.decide(p, joins, open);
        decided.push_back(p);
      }
      const FineTicks most =
          greatest_excess(tables, duals, feasible, test::mask_of(inside), test::mask_of(open));
      CAPTURE(step);
      REQUIRE(bound.most() >= most);
      met += most >= lowest(duals) && bound.most() < most + most / 10 + 10 * kFinePerTick;
    }
  });
  CHECK(met > 1'000);
  CHECK(tightened > 500);
}

TEST_CASE("the bound of decisions does not depend on how they were reached") {
  for_each_priced_world(1000, [&](const FusionTables& tables, std::mt19937_64& random) {
    const PartitionPricing pricing(tables);
    const Duals duals = random_duals(pricing, tables.size(), random);
    ExcessBound bound(tables, duals);
    KernelSet open(tables.size());
    KernelSet inside(tables.size());
    for (std::size_t p = 0; p < tables.size(); ++p) open.insert(p);
    bound.tighten(inside, open);
    const FineTicks nothing = bound.most();
    std::vector<std::size_t> decided;
    for (std::size_t p = 0; p < tables.size(); ++p) {
      const bool joins = pick(random, 0, 2) == 0;
      open.erase(p);
      if (joins) inside.insert(p);
      bound.decide(p, joins, open);
      decided.push_back(p);
    }
    const FineTicks all = bound.most();
    KernelSet left = inside;
    for (; !decided.empty(); decided.pop_back()) {
      bound.take_back(decided.back(), left, open);
      left.erase(decided.back());
      open.insert(decided.back());
    }
    REQUIRE(bound.most() == nothing);
    // The same ones the other way round, and back after a change of the relaxations.
    for (std::size_t p = tables.size(); p-- > 0;) {
      open.erase(p);
      if (inside.contains(p)) left.insert(p);
      bound.decide(p, inside.contains(p), open);
      decided.push_back(p);
    }
    REQUIRE(bound.most() == all);
    bound.tighten(left, open);
    const FineTicks tight = bound.most();
    for (; !decided.empty(); decided.pop_back()) {
      bound.take_back(decided.back(), left, open);
      left.erase(decided.back());
      open.insert(decided.back());
    }
    for (std::size_t p = 0; p < tables.size(); ++p) {
      open.erase(p);
      bound.decide(p, inside.contains(p), open);
    }
    REQUIRE(bound.most() == tight);
  });
}

TEST_CASE("looked at closely or not, from any first kernel on, the same partitions are listed") {
  std::int64_t listed = 0;
  for_each_priced_world(2000, [&](const FusionTables& tables, std::mt19937_64& random) {
    const PartitionPricing pricing(tables);
    const Duals duals = random_duals(pricing, tables.size(), random);
    const FineTicks threshold = pick(random, 0, 1) == 0 ? 0 : lowest(duals);
    const auto list = [&](std::size_t first, std::int64_t trial) {
      std::int64_t steps = kEnoughSets;
      const auto found = pricing.find(duals,
                                      {.threshold = threshold,
                                       .most = kAll,
                                       .first = first,
                                       .trial = trial,
                                       .at_once = static_cast<std::size_t>(pick(random, 1, 5))},
                                      steps);
      REQUIRE(found.complete);
      std::vector<std::pair<Mask, FineTicks>> sets;
      for (const PartitionColumn& set : found.partitions) {
        sets.emplace_back(test::mask_of(set.kernels), set.excess);
      }
      std::sort(sets.begin(), sets.end());
      return sets;
    };
    const auto all = list(0, 300);
    listed += std::ssize(all);
    REQUIRE(list(0, 0) == all);
    const auto last = static_cast<std::int64_t>(tables.size()) - 1;
    REQUIRE(list(static_cast<std::size_t>(pick(random, 0, last)), pick(random, 0, 9)) == all);
  });
  CHECK(listed > 10'000);
}

TEST_CASE("states that replace others leave a partition of the greatest excess") {
  std::int64_t fewer = 0;
  std::int64_t steps_of_all = 0;
  std::int64_t steps_of_best = 0;
  for (const auto sets : {PartitionPricing::Sets::Ordered, PartitionPricing::Sets::OneOfEach}) {
    for_each_priced_world(4000, [&](const FusionTables& tables, std::mt19937_64& random) {
      const PartitionPricing pricing(tables, sets);
      Duals duals = random_duals(pricing, tables.size(), random);
      if (sets == PartitionPricing::Sets::OneOfEach) {
        for (std::size_t p = 0; p < tables.size(); ++p) {
          duals.kernels[p] = duals.kernels[tables.order().first_alike()[p]];
        }
      }
      const FineTicks threshold = pick(random, 0, 1) == 0 ? 0 : lowest(duals);
      std::int64_t left = kEnoughSets;
      const auto all =
          pricing.find(duals, {.threshold = threshold, .most = kAll, .trial = 0}, left);
      steps_of_all += kEnoughSets - left;
      left = kEnoughSets;
      const auto last = static_cast<std::int64_t>(tables.size()) - 1;
      const auto best = pricing.find(duals,
                                     {.threshold = threshold,
                                      .most = kAll,
                                      .best_only = true,
                                      .first = static_cast<std::size_t>(pick(random, 0, last)),
                                      .trial = 0,
                                      .at_once = static_cast<std::size_t>(pick(random, 1, 5))},
                                     left);
      steps_of_best += kEnoughSets - left;
      REQUIRE(best.complete);
      REQUIRE(best.partitions.empty() == all.partitions.empty());
      REQUIRE(best.partitions.size() <= all.partitions.size());
      fewer += best.partitions.size() < all.partitions.size();
      if (all.partitions.empty()) return;
      REQUIRE(best.partitions.front().excess == all.partitions.front().excess);
      for (const PartitionColumn& set : best.partitions) {
        REQUIRE(std::any_of(all.partitions.begin(), all.partitions.end(),
                            [&](const PartitionColumn& other) {
                              return other.kernels == set.kernels && other.time == set.time &&
                                     other.excess == set.excess;
                            }));
      }
    });
  }
  CHECK(fewer > 100);
  CHECK(steps_of_best < steps_of_all);
}

TEST_CASE("an enumeration that is cut short says with which first kernel to go on") {
  int cut = 0;
  for_each_priced_world(500, [&](const FusionTables& tables, std::mt19937_64& random) {
    const PartitionPricing pricing(tables);
    const Duals duals = random_duals(pricing, tables.size(), random);
    std::int64_t left = kEnoughSets;
    const auto all = pricing.find(duals, {.threshold = lowest(duals), .most = kAll}, left);
    const auto last = static_cast<std::int64_t>(tables.size()) - 1;
    const auto first = static_cast<std::size_t>(pick(random, 0, last));
    std::int64_t steps = pick(random, 0, kEnoughSets - left - 1);
    const auto found = pricing.find(duals,
                                    {.threshold = lowest(duals),
                                     .most = kAll,
                                     .first = first,
                                     .at_once = static_cast<std::size_t>(pick(random, 1, 5))},
                                    steps);
    if (found.complete) return;
    ++cut;
    REQUIRE(found.next < tables.size());
    // All whose first kernel lies between the two are there.
    for (const PartitionColumn& set : all.partitions) {
      const auto& order = pricing.order();
      const auto its_first = static_cast<std::size_t>(
          std::find_if(order.begin(), order.end(),
                       [&](std::uint32_t p) { return set.kernels.contains(p); }) -
          order.begin());
      if (its_first < first || its_first + 1 >= found.next || found.next < first) continue;
      REQUIRE(
          std::any_of(found.partitions.begin(), found.partitions.end(),
                      [&](const PartitionColumn& other) { return other.kernels == set.kernels; }));
    }
  });
  CHECK(cut > 100);
}

TEST_CASE("kernels are decided after all that come before them") {
  int other = 0;
  for_each_priced_world(500, [&](const FusionTables& tables, std::mt19937_64&) {
    const PartitionPricing pricing(tables);
    KernelSet placed(tables.size());
    for (const std::uint32_t p : pricing.order()) {
      KernelSet before = pricing.ancestors(p);
      before.erase(p);
      REQUIRE(placed.contains_all(before));
      REQUIRE_FALSE(placed.contains(p));
      placed.insert(p);
    }
    other += !std::is_sorted(pricing.order().begin(), pricing.order().end());
  });
  CHECK(other > 20);
}

TEST_CASE("a table of states holds what it was shown until it is full") {
  MetStates met(2);
  KernelSet some(8);
  some.insert(3);
  const KernelSet none(8);
  const auto offer = [](FineTicks worth, double sram, std::int64_t kernels) {
    return StateOffer{.worth = {worth, worth, worth}, .sram = Bytes(sram), .kernels = kernels};
  };
  CHECK_FALSE(met.is_worse({some, none, none}, offer(10, 5, 1)));
  CHECK(met.is_worse({some, none, none}, offer(10, 5, 1)));
  CHECK(met.is_worse({some, none, none}, offer(9, 6, 2)));
  CHECK_FALSE(met.is_worse({some, none, none}, offer(9, 4, 1)));  // takes less
  CHECK(met.is_worse({some, none, none}, offer(9, 4, 1)));
  CHECK_FALSE(met.is_worse({some, none, none}, offer(20, 4, 1)));  // full
  CHECK_FALSE(met.is_worse({some, none, none}, offer(20, 4, 1)));
  CHECK_FALSE(met.is_worse({none, some, none}, offer(1, 9, 9)));  // another future
  met.clear();
  CHECK_FALSE(met.is_worse({some, none, none}, offer(9, 6, 2)));
  CHECK(met.is_worse({some, none, none}, offer(9, 6, 2)));
}

}  // namespace dfsearch
