#include "model/mapping.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace dfsearch {
namespace {

Mapping mapping(std::vector<std::int64_t> partition, std::vector<LoopPair> sharding = {}) {
  sharding.resize(partition.size(), Loop::None);
  return {.network = {},
          .micro_batch = 2,
          .tile = 8,
          .sharding = std::move(sharding),
          .partition = std::move(partition),
          .cores = {}};
}

/// `first` comes before `second` and not the other way round.
void check_order(const Mapping& first, const Mapping& second) {
  CHECK(precedes(first, second));
  CHECK_FALSE(precedes(second, first));
}

TEST_CASE("no mapping precedes itself") {
  const Mapping one = mapping({0, 1, 1});
  CHECK_FALSE(precedes(one, one));
}

TEST_CASE("the larger tile precedes whatever else differs") {
  Mapping large = mapping({0, 1, 2}, {Loop::N, Loop::N, Loop::N});
  large.micro_batch = 9;
  Mapping small = mapping({0, 0, 0});
  small.tile = 7;
  check_order(large, small);
}

TEST_CASE("then the smaller micro-batch") {
  Mapping small = mapping({0, 1, 2}, {Loop::N, Loop::N, Loop::N});
  Mapping large = mapping({0, 0, 0});
  large.micro_batch = 3;
  check_order(small, large);
}

TEST_CASE("then fewer partitions, empty ones not counted") {
  check_order(mapping({5, 5, 9}, {Loop::N, Loop::N, Loop::N}), mapping({0, 1, 2}));
}

TEST_CASE("then the sharding, kernel by kernel, in the order none, outer, K, M, N") {
  const std::vector<Loop> order{Loop::None, Loop::Outer, Loop::K, Loop::M, Loop::N};
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    check_order(mapping({0, 9, 9}, {order[i], Loop::N, Loop::N}),
                mapping({0, 0, 1}, {order[i + 1], Loop::None, Loop::None}));
  }
  check_order(mapping({0, 1, 1}, {Loop::K, Loop::None, Loop::N}),
              mapping({0, 1, 1}, {Loop::K, Loop::Outer, Loop::None}));
}

TEST_CASE("then the partitions, kernel by kernel") {
  check_order(mapping({0, 0, 9}), mapping({0, 1, 0}));
  check_order(mapping({0, 1, 0}), mapping({0, 1, 1}));
}

TEST_CASE("cores have no part in the order") {
  Mapping one = mapping({0, 1});
  Mapping other = one;
  other.cores = {{.lanes = 2, .stages = 1}, {.lanes = 1, .stages = 2}};
  CHECK_FALSE(precedes(one, other));
  CHECK_FALSE(precedes(other, one));
}

TEST_CASE("the network comes before everything else in the order") {
  Mapping one = mapping({0, 1});
  Mapping other = mapping({0, 0});
  one.network = {{.degree = 2, .strategy = Strategy::Data}};
  other.network = {{.degree = 4, .strategy = Strategy::Tensor}};
  CHECK(precedes(one, other));
  CHECK_FALSE(precedes(other, one));
  other.network = {{.degree = 2, .strategy = Strategy::Tensor}};
  CHECK(precedes(other, one));
}

TEST_CASE("partitions are counted when they hold a kernel") {
  CHECK(partitions_used({0, 0, 0}) == 1);
  CHECK(partitions_used({0, 3, 0, 7}) == 3);
  CHECK(partitions_used({}) == 0);
}

TEST_CASE("a grid is lanes times stages cores") {
  CHECK(CoreGrid{.lanes = 3, .stages = 4}.cores() == 12);
  CHECK(CoreGrid{}.cores() == 1);
}

}  // namespace
}  // namespace dfsearch
