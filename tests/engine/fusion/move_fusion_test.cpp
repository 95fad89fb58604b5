#include "engine/fusion/move_fusion.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <variant>
#include <vector>

#include "engine/fusion/moving_parts.hpp"
#include "engine/fusion/partition_sequence.hpp"
#include "engine/fusion/point_moves.hpp"
#include "engine/fusion/segment_fusion.hpp"
#include "support/open_point.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

/// A point of a small world with a first fusion; it refers to the problem beside it.
struct MovedStart {
  Problem problem;
  std::shared_ptr<const FusionContext> context;
  Fusion fusion;
};

/// With a network and a sharding that are given; nothing if moves are not possible there.
std::unique_ptr<MovedStart> start_of(std::uint64_t seed, std::size_t kernels) {
  test::WorldLimits limits;
  limits.kernels = kernels;
  limits.assignments = 1e9;
  auto start = std::make_unique<MovedStart>();
  start->problem = test::random_problem(seed, limits);
  if (start->problem.execution.style == Style::KernelByKernel) return nullptr;
  start->context = test::open_point(start->problem, seed);
  const FusionTables& tables = start->context->tables;
  if (!MoveSearch::is_possible(tables) || tables.decisions().spilled) return nullptr;
  auto segments = best_segments(tables);
  if (!segments) return nullptr;
  start->fusion = std::move(*segments);
  return start;
}

/// Cost of a fusion of the point by `evaluate`, nothing if it does not fit.
std::optional<Cost> cost_of(const MovedStart& start, const std::vector<std::int64_t>& partition) {
  const LayerDecisions& decided = start.context->tables.decisions();
  Mapping mapping{.network = decided.network,
                  .micro_batch = decided.micro_batch,
                  .tile = decided.tile,
                  .sharding = {},
                  .partition = partition,
                  .cores = {}};
  for (const LoopSet loops : decided.sharding) mapping.sharding.push_back(loops.front());
  const auto result = evaluate(start.problem, mapping);
  const Cost* cost = std::get_if<Cost>(&result);
  return cost == nullptr ? std::nullopt : std::optional(*cost);
}

std::vector<KernelSet> sets_of(const std::vector<std::uint32_t>& places) {
  std::vector<KernelSet> sets;
  for (std::size_t p = 0; p < places.size(); ++p) {
    if (places[p] >= sets.size()) sets.resize(places[p] + 1, KernelSet(places.size()));
    sets[places[p]].insert(p);
  }
  return sets;
}

/// One draw of kernels of a partition and of where they go.
Ticks ask(MovingParts& parts, const FusionTables& tables, std::mt19937_64& random) {
  const auto below = [&](std::size_t most) {
    return static_cast<std::size_t>(test::pick(random, 0, static_cast<std::int64_t>(most) - 1));
  };
  const std::size_t kernel = below(tables.size());
  const std::size_t own = parts.part_of(kernel);
  const std::size_t place = below(parts.count() + 1);
  const std::size_t to = place == parts.count() ? MovingParts::kNewPart : parts.part_at(place);
  if (to == own) return kNever;
  switch (below(3)) {
    case 0:
      parts.choose(kernel);
      break;
    case 1:
      parts.choose_with_followers(kernel);
      break;
    default:
      parts.choose_with_leaders(kernel);
  }
  return parts.change(to, kNever - 1);
}

TEST_CASE("whatever moves, the fusion is allowed and takes what it says") {
  int moved = 0;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    CAPTURE(seed);
    const auto start = start_of(seed, 9);
    if (!start) continue;
    const FusionTables& tables = start->context->tables;
    MovingParts parts(tables, start->fusion);
    CHECK(parts.time() == start->fusion.time);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 40; ++i) {
      const Ticks before = parts.time();
      const auto places_before = parts.places();
      const Ticks change = ask(parts, tables, random);
      if (change >= kNever) continue;
      const auto side =
          test::pick(random, 0, 1) == 0 ? MovingParts::Side::Before : MovingParts::Side::After;
      if (!parts.move(side)) {
        ++refused;
        CHECK(parts.time() == before);
        REQUIRE(parts.places() == places_before);
        continue;
      }
      ++moved;
      CHECK(parts.time() == before + change);
      const auto fusion = fusion_of(tables, sets_of(parts.places()));
      REQUIRE(fusion);
      CHECK(fusion->time == parts.time());
      CHECK(test::partitions_used(fusion->partition) == static_cast<std::int64_t>(parts.count()));
      const auto cost = cost_of(*start, fusion->partition);
      REQUIRE(cost);
      CHECK(cost->layer_ticks == parts.time());
    }
  }
  CHECK(moved > 5'000);
  CHECK(refused > 500);
}

TEST_CASE("moves are refused only where no order of the partitions allows them") {
  int refused = 0;
  int allowed = 0;
  for (std::uint64_t seed = 0; seed < 6'000; ++seed) {
    CAPTURE(seed);
    const auto start = start_of(seed, 7);
    if (!start) continue;
    const FusionTables& tables = start->context->tables;
    // The bytes waiting in memory depend on the order of partitions, and there are many orders.
    if (tables.capacity_for_activations() < Bytes::infinity() || tables.has_halves()) continue;
    MovingParts parts(tables, start->fusion);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 20; ++i) {
      std::vector<std::uint32_t> places = parts.places();
      const std::size_t kernel = static_cast<std::size_t>(
          test::pick(random, 0, static_cast<std::int64_t>(tables.size()) - 1));
      const auto other = static_cast<std::size_t>(
          test::pick(random, 0, static_cast<std::int64_t>(parts.count()) - 1));
      if (parts.part_at(other) == parts.part_of(kernel)) continue;
      parts.choose(kernel);
      if (parts.change(parts.part_at(other), kNever - 1) >= kNever) continue;
      places[kernel] = static_cast<std::uint32_t>(other);
      // Tries every order of the partitions.
      std::vector<KernelSet> sets = sets_of(places);
      std::erase_if(sets, [](const KernelSet& set) { return set.first_from(0) >= set.end(); });
      if (sets.size() > 6) continue;
      std::vector<std::size_t> order(sets.size());
      for (std::size_t s = 0; s < order.size(); ++s) order[s] = s;
      bool possible = false;
      do {
        std::vector<KernelSet> ordered;
        for (const std::size_t s : order) ordered.push_back(sets[s]);
        possible = fusion_of(tables, ordered).has_value();
      } while (!possible && std::next_permutation(order.begin(), order.end()));
      const bool moved = parts.move(MovingParts::Side::After);
      CHECK(moved == possible);
      ++(moved ? allowed : refused);
    }
  }
  CHECK(allowed > 1'000);
  CHECK(refused > 200);
}

TEST_CASE("moves never make a fusion worse, mostly the best, and always the same") {
  int searched = 0;
  int better = 0;
  int best = 0;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    CAPTURE(seed);
    const auto start = start_of(seed, 9);
    if (!start) continue;
    const FusionTables& tables = start->context->tables;
    ++searched;
    MoveSearch search(tables, start->fusion);
    MoveSearch again(tables, start->fusion);
    bool ended = false;
    // It ends after some number of steps however they are cut.
    while (!ended) {
      const Ticks before = search.best().time;
      Work work = 10'000;
      ended = search.advance(work);
      REQUIRE(search.best().time <= before);
    }
    Work all = kNever / 1'000;
    CHECK(again.advance(all));
    CHECK(again.best().partition == search.best().partition);
    const Fusion& found = search.best();
    better += found.time < start->fusion.time;
    const auto cost = cost_of(*start, found.partition);
    REQUIRE(cost);
    CHECK(cost->layer_ticks == found.time);
    const RelaxedFusion least = relaxed_fusion(tables, kNever - 1, 1'000'000'000);
    REQUIRE(least.fusion);
    CHECK(least.fusion->time <= found.time);
    best += least.fusion->time == found.time;
  }
  CHECK(searched > 300);
  CHECK(better > 20);
  CHECK(best * 10 > searched * 9);
}

TEST_CASE("slices of moves find the same, never less than before, until none is left" *
          doctest::test_suite("slow")) {
  int better = 0;
  int ended = 0;
  for (std::uint64_t seed = 0; seed < 1'200; ++seed) {
    CAPTURE(seed);
    const auto start = start_of(seed, 9);
    if (!start) continue;
    const FusionTables& tables = start->context->tables;
    PointMoves one(tables);
    PointMoves other(tables);
    CHECK(one.claim(0) == 0);
    Ticks before = start->fusion.time;
    Work tree = 1'000'000;
    for (int slices = 0; slices < 60 && tree < kNever / 4; tree += tree / 2) {
      const Work slice = one.claim(tree);
      REQUIRE(other.claim(tree) == slice);
      if (slice == 0) continue;
      ++slices;
      CHECK(one.claim(tree) == 0);  // it is claimed
      const auto found = one.run(slice);
      const auto same = other.run(slice);
      one.publish();
      other.publish();
      REQUIRE(found.has_value() == same.has_value());
      if (!found) continue;
      CHECK(found->partition == same->partition);
      CHECK(found->time < before);
      before = found->time;
      ++better;
    }
    ended += one.claim(kNever / 2) == 0;
  }
  CHECK(better > 20);
  CHECK(ended > 20);
}

}  // namespace
}  // namespace dfsearch
