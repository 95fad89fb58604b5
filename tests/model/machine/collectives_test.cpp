// Bandwidths are a few bytes a second, so that every time below is a small
// number that the comment beside it calculates.

#include "model/machine/collectives.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "support/model_worlds.hpp"

namespace dfsearch {
namespace {

using test::dimension;

Collectives collectives(std::vector<NetworkDimension> network, Equations equations = {},
                        Strategy strategy = Strategy::Tensor) {
  Machine system;
  system.network = std::move(network);
  return Collectives(system, test::network_of(system), strategy, equations);
}

void check_time(Seconds time, double expected) {
  CHECK(time.in_base_units() == doctest::Approx(expected).epsilon(1e-14));
}

void check_all_free(const Collectives& c) {
  CHECK(c.members() == 1);
  CHECK(c.all_reduce(Bytes(80.0)) == Seconds{});
  CHECK(c.all_gather(Bytes(80.0)) == Seconds{});
  CHECK(c.all_to_all(Bytes(80.0)) == Seconds{});
  CHECK(c.all_to_all_per_pair(Bytes(80.0)) == Seconds{});
  CHECK(c.point_to_point(Bytes(80.0)) == Seconds{});
}

TEST_CASE("without a dimension of the strategy every collective is free") {
  check_all_free(collectives({}));
  check_all_free(collectives({dimension(Topology::Ring, 8, 10.0, Strategy::Data)}));
}

TEST_CASE("one member has nobody to talk to") {
  for (const Topology t : {Topology::Ring, Topology::FullyConnected, Topology::Switch}) {
    check_all_free(collectives({dimension(t, 1, 10.0)}));
    check_all_free(collectives({dimension(t, 1, 10.0), dimension(t, 1, 0.1)}));
  }
}

// Four members, 10 B/s, 80 B.
TEST_CASE("collectives on a ring") {
  const Collectives c = collectives({dimension(Topology::Ring, 4, 10.0)});
  CHECK(c.members() == 4);
  check_time(c.all_gather(Bytes(80.0)), 6.0);            // 3/4 x 80 / 10
  check_time(c.all_reduce(Bytes(80.0)), 12.0);           // twice that
  check_time(c.all_to_all(Bytes(80.0)), 4.0);            // 4/8 x 80 / 10
  check_time(c.all_to_all_per_pair(Bytes(80.0)), 16.0);  // 4^2/8 x 80 / 10
  check_time(c.point_to_point(Bytes(80.0)), 8.0);        // 80 / 10
}

TEST_CASE("collectives among fully connected members") {
  const Collectives c = collectives({dimension(Topology::FullyConnected, 4, 10.0)});
  CHECK(c.members() == 4);
  check_time(c.all_gather(Bytes(80.0)), 2.0);           // 80 / (4 x 10)
  check_time(c.all_reduce(Bytes(80.0)), 4.0);           // 2 x 80 / (4 x 10)
  check_time(c.all_to_all(Bytes(80.0)), 2.0);           // 80 / (4 x 10)
  check_time(c.all_to_all_per_pair(Bytes(80.0)), 8.0);  // 80 / 10
  check_time(c.point_to_point(Bytes(80.0)), 8.0);
}

TEST_CASE("collectives through a switch") {
  const Collectives c = collectives({dimension(Topology::Switch, 4, 10.0)});
  CHECK(c.members() == 4);
  check_time(c.all_gather(Bytes(80.0)), 6.0);           // 3/4 x 80 / 10
  check_time(c.all_reduce(Bytes(80.0)), 12.0);          // 2 x 3/4 x 80 / 10
  check_time(c.all_to_all(Bytes(80.0)), 6.0);           // 3/4 x 80 / 10
  check_time(c.all_to_all_per_pair(Bytes(80.0)), 8.0);  // 4/4 x 80 / 10
  check_time(c.point_to_point(Bytes(80.0)), 8.0);
}

// 96 B among three.
TEST_CASE("the number of members need not be a power of two") {
  const Collectives ring = collectives({dimension(Topology::Ring, 3, 8.0)});
  check_time(ring.all_gather(Bytes(96.0)), 8.0);            // 2/3 x 12
  check_time(ring.all_to_all(Bytes(96.0)), 4.5);            // 3/8 x 12
  check_time(ring.all_to_all_per_pair(Bytes(96.0)), 13.5);  // 9/8 x 12
  const Collectives full = collectives({dimension(Topology::FullyConnected, 3, 8.0)});
  check_time(full.all_gather(Bytes(96.0)), 4.0);  // 12 / 3
  const Collectives star = collectives({dimension(Topology::Switch, 3, 8.0)});
  check_time(star.all_to_all(Bytes(96.0)), 8.0);           // 2/3 x 12
  check_time(star.all_to_all_per_pair(Bytes(96.0)), 9.0);  // 3/4 x 12
}

TEST_CASE("an all-reduce of one pass is as long as the all-gather") {
  for (const Topology t : {Topology::Ring, Topology::FullyConnected, Topology::Switch}) {
    const std::vector<NetworkDimension> network{dimension(t, 4, 10.0), dimension(t, 3, 5.0)};
    const Collectives two = collectives(network);
    const Collectives one = collectives(network, {.all_reduce_passes = 1});
    check_time(one.all_reduce(Bytes(80.0)), two.all_gather(Bytes(80.0)).in_base_units());
    check_time(two.all_reduce(Bytes(80.0)), 2.0 * two.all_gather(Bytes(80.0)).in_base_units());
    check_time(one.all_gather(Bytes(80.0)), two.all_gather(Bytes(80.0)).in_base_units());
    check_time(one.all_to_all(Bytes(80.0)), two.all_to_all(Bytes(80.0)).in_base_units());
  }
}

// Halved links and one pass, as the later published runs have it.
TEST_CASE("one pass over half the bandwidth is two passes over all of it") {
  const Collectives one =
      collectives({dimension(Topology::Ring, 8, 25.0)}, {.all_reduce_passes = 1});
  const Collectives two = collectives({dimension(Topology::Ring, 8, 50.0)});
  check_time(one.all_reduce(Bytes(400.0)), 14.0);  // 7/8 x 400 / 25
  check_time(two.all_reduce(Bytes(400.0)), 14.0);  // 2 x 7/8 x 400 / 50
}

// Ring of 4 at 10 B/s inside a switch of 2 at 5 B/s, 80 B: the ring leaves 20 B.
TEST_CASE("over two dimensions the outer one moves what the inner one leaves") {
  const Collectives c =
      collectives({dimension(Topology::Ring, 4, 10.0), dimension(Topology::Switch, 2, 5.0)});
  CHECK(c.members() == 8);
  check_time(c.all_gather(Bytes(80.0)), 8.0);            // 3/4 x 80/10 + 1/2 x 20/5
  check_time(c.all_reduce(Bytes(80.0)), 16.0);           // twice that
  check_time(c.all_to_all(Bytes(80.0)), 8.0);            // max(4/8 x 80/10, 1/2 x 80/5)
  check_time(c.all_to_all_per_pair(Bytes(80.0)), 16.0);  // max(16/8 x 80/10, 2/4 x 80/5)
  check_time(c.point_to_point(Bytes(80.0)), 16.0);       // max(80/10, 80/5)
}

// Two dimensions the other way round: the switch leaves 40 B.
TEST_CASE("which dimension is the inner one matters") {
  const Collectives c =
      collectives({dimension(Topology::Switch, 2, 5.0), dimension(Topology::Ring, 4, 10.0)});
  check_time(c.all_gather(Bytes(80.0)), 11.0);  // 1/2 x 80/5 + 3/4 x 40/10
  check_time(c.all_reduce(Bytes(80.0)), 22.0);
}

// Fully connected 2 at 20 B/s, ring 3 at 10 B/s, switch 5 at 4 B/s, 120 B:
// 120 B, 60 B and 20 B.
TEST_CASE("over three dimensions each moves what the inner ones leave") {
  const Collectives c =
      collectives({dimension(Topology::FullyConnected, 2, 20.0), dimension(Topology::Ring, 3, 10.0),
                   dimension(Topology::Switch, 5, 4.0)});
  CHECK(c.members() == 30);
  check_time(c.all_gather(Bytes(120.0)), 11.0);  // 120/40 + 2/3 x 60/10 + 4/5 x 20/4
  check_time(c.all_reduce(Bytes(120.0)), 22.0);
  check_time(c.all_to_all(Bytes(120.0)), 24.0);           // max(120/40, 3/8 x 12, 4/5 x 30)
  check_time(c.all_to_all_per_pair(Bytes(120.0)), 37.5);  // max(6, 9/8 x 12, 5/4 x 30)
  check_time(c.point_to_point(Bytes(120.0)), 30.0);       // 120/4
}

TEST_CASE("dimensions of other strategies and of one member change nothing") {
  const Collectives c = collectives(
      {dimension(Topology::Switch, 9, 0.1, Strategy::Pipeline), dimension(Topology::Ring, 4, 10.0),
       dimension(Topology::FullyConnected, 7, 0.1, Strategy::Data),
       dimension(Topology::Ring, 1, 0.1), dimension(Topology::Switch, 2, 5.0)});
  CHECK(c.members() == 8);
  check_time(c.all_gather(Bytes(80.0)), 8.0);
  check_time(c.all_to_all(Bytes(80.0)), 8.0);
  check_time(c.point_to_point(Bytes(80.0)), 16.0);
}

TEST_CASE("each strategy has its own dimensions") {
  const std::vector<NetworkDimension> network{
      dimension(Topology::Ring, 4, 10.0), dimension(Topology::Ring, 2, 10.0, Strategy::Pipeline),
      dimension(Topology::Switch, 2, 5.0, Strategy::Data)};
  CHECK(collectives(network, {}, Strategy::Pipeline).members() == 2);
  check_time(collectives(network, {}, Strategy::Data).all_reduce(Bytes(80.0)), 16.0);  // 2/2 x 16
}

TEST_CASE("degrees and strategies are those of the mapping, links those of the system") {
  Machine system;
  system.network = {dimension(Topology::Ring, 2, 10.0, Strategy::Data)};
  const Collectives c(system, {{.degree = 4, .strategy = Strategy::Tensor}}, Strategy::Tensor, {});
  CHECK(c.members() == 4);
  check_time(c.all_gather(Bytes(80.0)), 6.0);
}

}  // namespace
}  // namespace dfsearch
