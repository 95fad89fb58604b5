#include "model/mapping.hpp"

#include <doctest/doctest.h>

namespace dfsearch {
namespace {

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
