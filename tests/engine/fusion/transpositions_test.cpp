// Dominance between nodes that have the same kernels done.

#include "engine/fusion/transpositions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "engine/mapping/mapping_problem.hpp"
#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

using Partition = std::vector<std::size_t>;

/// Four kernels without tensors: every kernel may be in any partition.
struct World {
  Problem problem = test::idle_problem(4);
  std::shared_ptr<const FusionContext> context =
      MappingProblem(problem).open(outer_points(problem).front());

  /// A node after these partitions, each with its index.
  [[nodiscard]] FusionNode node(
      Ticks spent, std::int32_t next_index,
      const std::vector<std::pair<std::int32_t, Partition>>& closed) const {
    FusionNode node = context->search.root();
    node.spent = spent;
    node.next_index = next_index;
    for (const auto& [index, kernels] : closed) {
      KernelSet set(4);
      for (const std::size_t k : kernels) set.insert(k);
      node.done |= set;
      node.closed = std::make_shared<const ClosedPartition>(
          ClosedPartition{.previous = node.closed, .kernels = KernelList(set), .index = index});
      ++node.used;
    }
    return node;
  }
};

/// Dominance as the header has it, over what the nodes are made of.
bool better_or_equal(const FusionNode& a, const FusionNode& b) {
  return a.spent <= b.spent && a.next_index <= b.next_index;
}

/// Done are 0 and 1, or 0, 1 and 2, in one partition or more.
FusionNode random_node(const World& world, std::mt19937_64& random) {
  const std::int64_t kernels = test::pick(random, 2, 3);
  Partition order;
  for (std::int64_t k = 0; k < kernels; ++k) {
    const auto place = static_cast<std::ptrdiff_t>(test::pick(random, 0, k));
    order.insert(order.begin() + place, static_cast<std::size_t>(k));
  }
  std::vector<std::pair<std::int32_t, Partition>> closed;
  std::int32_t index = 0;
  for (const std::size_t kernel : order) {
    if (closed.empty() || test::pick(random, 0, 1) == 0) {
      index += static_cast<std::int32_t>(test::pick(random, 0, 1));
      closed.push_back({index++, {}});
    }
    closed.back().second.push_back(kernel);
  }
  index += static_cast<std::int32_t>(test::pick(random, 0, 1));
  return world.node(test::pick(random, 10, 13), index, closed);
}

}  // namespace

TEST_CASE("a node that is no earlier in time and index is dropped") {
  const World world;
  Transpositions seen(world.context->search);
  const FusionNode first = world.node(10, 2, {{0, {0}}, {1, {1}}});
  CHECK(seen.admit(first));
  CHECK(seen.ideals() == 1);

  CHECK_FALSE(seen.admit(world.node(11, 2, {{0, {1}}, {1, {0}}})));  // time
  CHECK_FALSE(seen.admit(world.node(10, 3, {{0, {0}}, {2, {1}}})));  // index
  CHECK_FALSE(seen.admit(world.node(10, 2, {{0, {1}}, {1, {0}}})));  // equal
  CHECK_FALSE(seen.admit(world.node(11, 2, {{0, {0, 1}}})));         // fewer, but later
  CHECK_FALSE(seen.superseded(first));

  CHECK(seen.admit(world.node(9, 3, {{0, {0}}, {2, {1}}})));  // less time, greater index
  CHECK(seen.admit(world.node(11, 1, {{0, {0, 1}}})));        // the reverse
  CHECK(seen.admit(world.node(10, 2, {{0, {0, 1, 2}}})));     // other kernels
  CHECK_FALSE(seen.superseded(first));
  CHECK(seen.ideals() == 2);
}

TEST_CASE("a node that is offered again is welcome") {
  const World world;
  Transpositions seen(world.context->search);
  const FusionNode node = world.node(10, 1, {{0, {0}}});
  CHECK(seen.admit(node));
  CHECK(seen.admit(node));
  CHECK_FALSE(seen.superseded(node));
}

TEST_CASE("a better node supersedes those before it") {
  const World world;
  const FusionNode node = world.node(10, 2, {{0, {1}}, {1, {0}}});
  std::vector<FusionNode> better{
      world.node(9, 2, {{0, {1}}, {1, {0}}}),  // sooner
      world.node(10, 1, {{0, {0, 1}}}),        // fewer partitions
  };
  for (const FusionNode& other : better) {
    Transpositions seen(world.context->search);
    CHECK(seen.admit(node));
    CHECK(seen.admit(other));
    CHECK(seen.superseded(node));
    CHECK_FALSE(seen.superseded(other));
    CHECK_FALSE(seen.admit(world.node(10, 2, {{0, {1}}, {1, {0}}})));
  }
}

TEST_CASE("what is kept are always the nodes that no other dominates") {
  const World world;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    Transpositions seen(world.context->search);
    std::vector<FusionNode> offered;
    for (int i = 0; i < 25; ++i) {
      const FusionNode node = random_node(world, random);
      const bool dominated = std::any_of(offered.begin(), offered.end(), [&](const auto& other) {
        return other.done == node.done && better_or_equal(other, node);
      });
      REQUIRE(seen.admit(node) == !dominated);
      if (!dominated) offered.push_back(node);
    }
    for (const FusionNode& node : offered) {
      const bool superseded = std::any_of(offered.begin(), offered.end(), [&](const auto& other) {
        return other.closed != node.closed && other.done == node.done &&
               better_or_equal(other, node);
      });
      REQUIRE(seen.superseded(node) == superseded);
    }
  }
}

}  // namespace dfsearch
