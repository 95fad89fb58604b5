#include "engine/tree/open_nodes.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <vector>

namespace dfsearch {
namespace {

using Nodes = OpenNodes<int>;

void push(Nodes& nodes, double bound, int node) {
  std::vector<Nodes::Entry> one;
  one.push_back({.bound = Score(bound), .sequence = 0, .node = node});
  nodes.push(one);
}

}  // namespace

TEST_CASE("the least bound comes first, of equal ones the newest") {
  Nodes nodes(1);
  push(nodes, 2.0, 1);
  push(nodes, 1.0, 2);
  push(nodes, 2.0, 3);
  for (const int expected : {2, 3, 1}) CHECK(nodes.pop()->node == expected);
  CHECK_FALSE(nodes.pop().has_value());
}

TEST_CASE("nodes are dropped together only if the least of them is above the cutoff") {
  Nodes nodes(2);
  push(nodes, 10.0, 1);
  push(nodes, 11.0, 2);
  REQUIRE(nodes.pop()->node == 1);
  // Meanwhile another worker, which took its node before, hands in a lesser one.
  push(nodes, 7.0, 3);
  CHECK(nodes.discard_above(Score(8.0)) == 0);
  CHECK(nodes.size() == 2);
  REQUIRE(nodes.pop()->node == 3);
  CHECK(nodes.discard_above(Score(11.0)) == 0);
  CHECK(nodes.discard_above(Score(8.0)) == 1);
  CHECK(nodes.size() == 0);
}

TEST_CASE("a node of infinite bound is held and done like any other") {
  Nodes nodes(1);
  std::vector<Nodes::Entry> produced;
  produced.push_back({.bound = Score::infinity(), .sequence = 0, .node = 1});
  REQUIRE(nodes.exchange(0, produced)->node == 1);
  // Nothing came of it: the search is over, and this does not wait for ever.
  CHECK_FALSE(nodes.exchange(0, produced).has_value());
  CHECK(nodes.lower_bound() == Score{});  // as before the first push
  push(nodes, 3.0, 2);
  CHECK(nodes.lower_bound() == Score(3.0));
}

}  // namespace dfsearch
