#include "model/mapping.hpp"

#include <doctest/doctest.h>

namespace dfsearch {
namespace {

TEST_CASE("a grid is lanes times stages cores") {
  CHECK(CoreGrid{.lanes = 3, .stages = 4}.cores() == 12);
  CHECK(CoreGrid{}.cores() == 1);
}

}  // namespace
}  // namespace dfsearch
