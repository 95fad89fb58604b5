// The best cover by partitions of a list, against all sequences of them.

#include "engine/fusion/exact_covers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "support/model_worlds.hpp"
#include "support/open_point.hpp"
#include "support/plain_partitions.hpp"
#include "support/random_duals.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

using test::Mask;
using test::pick;

constexpr std::int64_t kEnoughSteps = 100'000'000;
constexpr FineTicks kNone = std::numeric_limits<FineTicks>::max() / 4;

/// Partitions of a list one after the other, each where what it needs is done.
class Sequences {
 public:
  Sequences(const FusionTables& tables, const test::PlainPartitions& plain,
            const std::vector<PartitionColumn>& list, FineTicks charge)
      : plain_(plain), charge_(charge) {
    for (const PartitionColumn& column : list) {
      slack_[test::mask_of(column.kernels)] = -column.excess;
    }
    for (std::size_t p = 0; p < tables.size(); ++p) {
      (tables.kernel(p).backward ? backward_ : forward_) |= test::bit(p);
    }
  }

  /// The least slack of so many partitions at most that cover the rest; those not used are charged.
  FineTicks least(Mask rest, std::int64_t most) {
    if (rest == 0) return charge_ * most;
    if (most == 0) return kNone;
    const auto known = known_.find({rest, most});
    if (known != known_.end()) return known->second;
    FineTicks least_slack = kNone;
    for (const auto& [kernels, slack] : slack_) {
      const Mask later = rest & ~kernels;
      if ((kernels & ~rest) != 0 || !plain_.is_rest(later)) continue;
      if ((kernels & backward_) != 0 && (later & forward_) != 0) continue;
      least_slack = std::min(least_slack, slack + least(later, most - 1));
    }
    return known_[{rest, most}] = least_slack;
  }

 private:
  const test::PlainPartitions& plain_;
  FineTicks charge_;
  Mask forward_ = 0;
  Mask backward_ = 0;
  std::map<Mask, FineTicks> slack_;
  std::map<std::pair<Mask, std::int64_t>, FineTicks> known_;
};

}  // namespace

TEST_CASE("the best cover is that of all sequences of partitions of the list") {
  int covered = 0;
  int none = 0;
  int cyclic = 0;
  int full = 0;
  int beyond = 0;
  int large = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    CAPTURE(seed);
    // Small worlds with all of their partitions, or larger ones, where chosen partitions come
    // between others, with a few of them.
    const bool is_large = seed % 2 == 0;
    Problem problem = is_large ? test::random_problem(seed, {.kernels = 11, .assignments = 1e300})
                               : test::random_problem(seed, {.assignments = 1e9});
    if (problem.execution.style == Style::KernelByKernel) continue;
    problem.execution.pins.clear();
    problem.system.memory[0].capacity = Bytes(1e18);
    const auto context = test::open_point(problem, seed);
    const FusionTables& tables = context->tables;
    const PartitionPricing pricing(tables);
    if (tables.has_halves()) continue;
    std::mt19937_64 random(seed);
    PartitionDuals duals;
    duals.kernels.assign(tables.size(), 0);
    if (pick(random, 0, 1) == 0) duals.charge[0] = pick(random, 0, 1000);
    std::int64_t steps = kEnoughSteps;
    std::vector<PartitionColumn> list =
        pricing.find(duals, {.threshold = -kNone, .most = 10'000}, steps).partitions;
    // Some of them, with any slack: few different ones, so that many covers have the same.
    const auto listed = static_cast<std::int64_t>(list.size());
    std::erase_if(list, [&](const PartitionColumn& column) {
      return is_large ? pick(random, 0, listed) > 60 && column.size > 2 : pick(random, 0, 2) == 0;
    });
    const std::int64_t different = pick(random, 1, 50);
    for (PartitionColumn& column : list) column.excess = -pick(random, 0, different);
    const test::PlainPartitions plain(tables);
    const std::int64_t most = pricing.rules().left(0, 0);
    const FineTicks least =
        Sequences(tables, plain, list, duals.charge[0]).least(plain.all(), most);
    // With few steps whichever way comes to an end, and what was remembered is there for the next.
    ExactCovers by_few(tables, pricing, duals, list);
    for (std::int64_t few = 2;; few += few / 2) {
      std::int64_t left = few;
      const auto found = by_few.find(kNone, left);
      REQUIRE(found.slack >= least);
      if (!found.complete) continue;
      REQUIRE(found.slack == least);
      break;
    }
    ExactCovers covers(tables, pricing, duals, list);
    const auto found = covers.find(kNone, steps);
    REQUIRE(found.complete);
    REQUIRE(found.slack == least);
    REQUIRE(found.fusion.has_value() == (least < kNone));
    ++(least < kNone ? covered : none);
    if (!found.fusion) continue;
    full += found.fusion->used == most;
    large += tables.size() > 9;
    // Once more, as what was remembered must hold for any limit.
    REQUIRE(covers.find(least + 1, steps).slack == least);
    const auto below = covers.find(least, steps);
    REQUIRE(below.slack == least);
    REQUIRE_FALSE(below.fusion);
    ++beyond;
    // Without looking at the order some would take less.
    std::vector<FineTicks> any(plain.all() + 1, kNone);
    any[0] = 0;
    for (Mask done = 0; done < plain.all(); ++done) {
      if (any[done] >= kNone) continue;
      for (const PartitionColumn& column : list) {
        const Mask kernels = test::mask_of(column.kernels);
        if ((kernels & done) != 0) continue;
        any[done | kernels] = std::min(any[done | kernels], any[done] - column.excess);
      }
    }
    cyclic += duals.charge[0] == 0 && any[plain.all()] < least;
  }
  CHECK(covered > 1000);
  CHECK(none > 300);
  CHECK(cyclic > 30);
  CHECK(full > 100);
  CHECK(beyond > 1000);
  CHECK(large > 100);
}

// z1 -> x1, x2 -> y1, y2 -> z2.  After {x1, x2} and {y1, y2}, {z1, z2} would close a cycle through
// all three; with {x1} and {x2} it does not.  The kernels y and z, which are left in either case,
// have a cover then.
TEST_CASE("what choices of others forbid is not remembered of the kernels left") {
  Problem problem = test::idle_problem(1);
  std::vector<Kernel> kernels;
  for (const char* const name : {"z1", "x1", "x2", "y1", "y2", "z2"}) {
    // No two of them are alike.
    const auto rows = static_cast<std::int64_t>(kernels.size()) + 1;
    kernels.push_back(test::weight_gemm(name, rows, 1, 1));
  }
  std::vector<Tensor> tensors;
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(2, 3), std::pair(4, 5)}) {
    tensors.push_back({.from = KernelId(static_cast<std::size_t>(from)),
                       .to = KernelId(static_cast<std::size_t>(to)),
                       .operand = 1});
  }
  problem.workload.graph = DataflowGraph(kernels, tensors);
  const auto context = test::open_point(problem, 0);
  const FusionTables& tables = context->tables;
  const PartitionPricing pricing(tables);
  PartitionDuals duals;
  duals.kernels.assign(tables.size(), 0);
  std::vector<PartitionColumn> list;
  const auto add = [&](const std::vector<std::size_t>& of, FineTicks slack) {
    KernelSet set(tables.size());
    for (const std::size_t kernel : of) set.insert(tables.order().position(KernelId(kernel)));
    list.push_back(
        {.kernels = set, .excess = -slack, .size = static_cast<std::int64_t>(of.size())});
  };
  add({1, 2}, 0);
  add({1}, 5);
  add({2}, 5);
  // Once would do, but kernels of fewer partitions are covered first.
  for (const FineTicks slack : {0, 50, 60}) {
    add({3, 4}, slack);
    add({0, 5}, slack);
  }
  ExactCovers covers(tables, pricing, duals, list);
  std::int64_t steps = kEnoughSteps;
  const auto found = covers.find(1000, steps);
  REQUIRE(found.complete);
  CHECK(found.slack == 10);
  CHECK(found.fusion.has_value());
}

}  // namespace dfsearch
