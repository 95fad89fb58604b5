// Duals of alike kernels against all partitions.

#include "engine/duals/column_generation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "support/alike_problem.hpp"
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

/// All feasible sets, with their times.
class PlainSets {
 public:
  explicit PlainSets(const FusionTables& tables) : tables_(tables), rules_(tables) {
    const test::PlainPartitions plain(tables);
    for (const Mask kernels : plain.feasible()) {
      sets_.push_back({.kernels = kernels, .time = plain.time(*plain.parts_of(kernels))});
    }
  }

  /// Whether no set takes less than the duals of its kernels less its charge.
  [[nodiscard]] bool allow(const Duals& duals) const {
    return std::all_of(sets_.begin(), sets_.end(), [&](const Set& set) {
      FineTicks sum = 0;
      std::size_t group = 0;
      for (std::size_t p = 0; p < tables_.size(); ++p) {
        if ((set.kernels & test::bit(p)) == 0) continue;
        sum += duals.kernels[p];
        group = rules_.group(tables_.kernel(p).backward);
      }
      return sum <= set.time * kFinePerTick + duals.charge[group];
    });
  }

  /// Lower bound that the duals prove for all kernels together.
  [[nodiscard]] FineTicks bound(const PartitionDuals& duals) const {
    return duals.of_rest(KernelSet(tables_.size())) - duals.charges(rules_, 0);
  }

 private:
  struct Set {
    Mask kernels = 0;
    Ticks time = 0;
  };
  const FusionTables& tables_;
  const PartitionRules rules_;
  std::vector<Set> sets_;
};

/// Duals that each call leaves to be taken, until the end.
std::vector<std::optional<PartitionDuals>> proofs(const FusionTables& tables, Work slice) {
  constexpr Work kEnoughDuals = 100'000'000'000;
  std::vector<std::optional<PartitionDuals>> taken;
  Work begin = 0;
  ColumnGeneration search(tables, begin);
  for (; !search.has_ended(); slice += slice / 2 + 1) {
    Work work = slice;
    search.advance(work);
    taken.push_back(search.take());
    REQUIRE(!search.take());
    REQUIRE(slice < kEnoughDuals);
  }
  return taken;
}

bool same(const std::optional<PartitionDuals>& a, const std::optional<PartitionDuals>& b) {
  if (!a || !b) return !a && !b;
  return a->kernels == b->kernels && a->charge == b->charge && a->gains == b->gains;
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
    Work work = seed % 5 == 0 ? 40'000 : 100'000'000'000;
    ColumnGeneration search(tables, work);
    search.advance(work);
    const auto duals = search.take();
    if (!duals) continue;
    early += !search.has_ended();
    REQUIRE(duals->kernels.size() == tables.size());
    REQUIRE(duals->gains.size() == tables.size());
    const PartitionRules rules(tables);
    charged += duals->charge[0] > 0;
    const test::PlainPartitions plain(tables);
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

TEST_CASE("bit by bit each proof is given away once, the same each time") {
  int alike = 0;
  int others = 0;
  int proved = 0;
  int several = 0;
  for (std::uint64_t seed = 0; seed < 900; ++seed) {
    CAPTURE(seed);
    const Problem problem = seed % 3 == 0 ? test::alike_problem(seed) : world(seed);
    if (problem.execution.style == Style::KernelByKernel) continue;
    const auto context = test::open_point(problem, seed);
    const FusionTables& tables = context->tables;
    const Work slice = 1 + static_cast<Work>(seed % 50);
    const auto taken = proofs(tables, slice);
    const auto again = proofs(tables, slice);
    REQUIRE(std::equal(taken.begin(), taken.end(), again.begin(), again.end(), same));
    const PlainSets sets(tables);
    std::optional<FineTicks> best;
    int of_world = 0;
    for (const auto& duals : taken) {
      if (!duals) continue;
      REQUIRE(sets.allow(*duals));
      const FineTicks bound = sets.bound(*duals);
      // Ever closer below the program, which sinks by what is overpaid only.
      if (best) REQUIRE(bound >= *best);
      best = bound;
      ++of_world;
    }
    proved += of_world;
    several += of_world > 1;
    (are_mostly_alike(tables) ? alike : others) += of_world > 0;
  }
  CHECK(alike > 100);
  CHECK(others > 500);
  CHECK(proved > 1000);
  CHECK(several > 300);
}

}  // namespace dfsearch
