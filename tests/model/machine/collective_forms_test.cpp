// Collectives on all axes at once, against mixtures of orders of the axes, figures of the JAX
// scaling book and measured points of NCCL.

#include "model/machine/collective_forms.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "support/linear_program.hpp"

namespace dfsearch::collective {
namespace {

using Axes = std::vector<Axis>;

Axis axis(Topology topology, double n, double link, double alpha = 0.0) {
  return {.topology = topology, .n = n, .link = BytesPerSecond(link), .alpha = Seconds(alpha)};
}

void check(Seconds time, double expected) {
  CHECK(time.in_base_units() == doctest::Approx(expected).epsilon(1e-12));
}

/// The least time of any mixture of orders, by a linear program: with y = shares of orders over the
/// time, the sum of y is greatest where each axis carries no more than it can.
double by_orders(const Axes& axes, double whole) {
  std::vector<std::size_t> order(axes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  double members = 1.0;
  for (const Axis& each : axes) members *= each.n;
  test::LinearProgram program;
  program.rows.resize(axes.size());
  program.most.assign(axes.size(), 1.0L);
  do {
    program.gains.push_back(1.0L);
    double inside = 1.0;
    for (const std::size_t i : order) {
      const double parts = inside * (axes[i].n - 1.0) / members;
      program.rows[i].push_back(whole * parts / into(axes[i]).in_base_units());
      inside *= axes[i].n;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return 1.0 / static_cast<double>(test::maximum(program));
}

TEST_CASE("what enters a chip in a second follows from how an axis is joined") {
  CHECK(into(axis(Topology::Ring, 16, 90)) == BytesPerSecond(180));
  CHECK(into(axis(Topology::Ring, 2, 90)) == BytesPerSecond(90));
  CHECK(into(axis(Topology::Line, 4, 90)) == BytesPerSecond(90));
  CHECK(into(axis(Topology::Switch, 8, 90)) == BytesPerSecond(90));
  CHECK(into(axis(Topology::FullyConnected, 8, 90)) == BytesPerSecond(630));
}

TEST_CASE("gathers on tori take what the JAX scaling book gives") {
  const Axes pod(3, axis(Topology::Ring, 16, 90e9, 1e-6));
  const Bytes whole(1e9);
  check(gather_at_once(pod, whole), 1e9 / 540e9 * 4095.0 / 4096.0);
  check(gather_at_once(Axes{pod[0]}, whole), 1e9 / 180e9 * 15.0 / 16.0);
  check(gather_in_turn(pod, whole), 1e9 / 180e9 * (1.0 + 1.0 / 16.0 + 1.0 / 256.0) * 15.0 / 16.0);
  check(latency(pod, Kind::AllReduce), 48e-6);
  check(latency(pod, Kind::AllToAll), 24e-6);
  // A part of a ring is a line.
  check(gather_at_once(Axes{axis(Topology::Line, 4, 45e9)}, Bytes(33554432)),
        33554432 * 0.75 / 45e9);
}

TEST_CASE("no mixture of orders gathers faster, and one gathers as fast") {
  std::mt19937_64 random(11);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int world = 0; world < 200; ++world) {
    Axes axes;
    double members = 1.0;
    for (int i = pick(1, 4); i > 0; --i) {
      axes.push_back(axis(static_cast<Topology>(pick(0, 3)), pick(2, 9), pick(1, 40)));
      members *= axes.back().n;
    }
    const Bytes whole(1000.0);
    const Seconds at_once = gather_at_once(axes, whole);
    CHECK(at_once.in_base_units() == doctest::Approx(by_orders(axes, 1000.0)).epsilon(1e-9));
    CHECK(at_once <= gather_in_turn(axes, whole) * (1.0 + 1e-12));
    CHECK(at_once >= gather_bound(axes, whole, members) * (1.0 - 1e-12));
  }
}

TEST_CASE("more axes than are enumerated take turns") {
  const Axes many(20, axis(Topology::Ring, 2, 10.0));
  const double inner = 1000.0 / 160.0 * (1.0 - std::pow(2.0, -16));
  const double outer = 1000.0 * std::pow(2.0, -16) / 10.0 * (1.0 - std::pow(2.0, -4));
  check(gather_at_once(many, Bytes(1000.0)), inner + outer);
}

TEST_CASE("an all-to-all crosses the middle of its axis") {
  const auto time = [](const Axis& of) { return all_to_all(Axes{of}, Bytes(1e9)); };
  check(time(axis(Topology::Ring, 16, 90e9)), 1e9 * 16 / 8 / 90e9);
  check(time(axis(Topology::Ring, 5, 50e9)), 0.012);  // 6 pairs of 25 over two links of both ways
  check(time(axis(Topology::Ring, 2, 50e9)), 0.01);
  check(time(axis(Topology::Line, 5, 50e9)), 1e9 * 6 / 5 / 50e9);
  check(time(axis(Topology::Switch, 4, 50e9)), 1e9 * 0.75 / 50e9);
  check(time(axis(Topology::FullyConnected, 4, 50e9)), 1e9 / 4 / 50e9);
  Axis tapered = axis(Topology::Switch, 256, 50e9);
  tapered.taper = 2.0;
  tapered.group = 32.0;
  check(time(tapered), 0.035);
}

TEST_CASE("a switch that adds up halves an all-reduce, and broadcasts use all axes") {
  Axis sharp = axis(Topology::Switch, 8, 288e9);
  check(all_reduce(Axes{sharp}, Bytes(1e9)), 2e9 * 7 / 8 / 288e9);
  sharp.reduces = true;
  check(all_reduce(Axes{sharp}, Bytes(1e9)), 1e9 * 9 / 8 / 288e9);
  check(broadcast(Axes(3, axis(Topology::Ring, 4, 90e9)), Bytes(1e9)), 1e9 / 540e9);
  check(broadcast(Axes{axis(Topology::FullyConnected, 8, 10.0)}, Bytes(80.0)), 2.0);
}

TEST_CASE("two levels: flat rings, sums in the network, rails") {
  const TwoLevels levels{.n_in = 8,
                         .n_out = 16,
                         .inside = BytesPerSecond(450e9),
                         .outside = BytesPerSecond(50e9),
                         .share_in = 0.75,
                         .share_out = 0.82};
  // 8 ports of 41 GB/s against 337.5 GB/s inside.
  check(flat_ring(levels, Bytes(1e9)), 1e9 * 127 / 128 / 328e9);
  check(sharp_network(levels, Bytes(1e9)), 2e9 * 7 / 8 / 337.5e9);
  check(rail_only_all_to_all(levels, Bytes(1e9)), 1e9 * 120 / 128 / 50e9);
}

/// Microseconds at 2, 32 and 512 MiB: nccl_perf of ai-dynamo/aiconfigurator @095f58a5.
struct Measured {
  const char* shares;
  Kind kind;
  double members;
  std::array<double, 3> times;
};
constexpr Measured kMeasured[] = {
    {"a100", Kind::AllReduce, 8, {53.7, 367, 4225.9}},
    {"a100", Kind::AllGather, 8, {33.45, 217.6, 2288}},
    {"a100", Kind::ReduceScatter, 8, {34.21, 210, 2207.1}},
    {"a100", Kind::AllToAll, 8, {38.57, 191.3, 2313.5}},
    {"h100", Kind::AllReduce, 8, {38.18, 199.8, 2111.06}},
    {"h100", Kind::AllGather, 8, {22.18, 125.46, 1401.5}},
    {"h100", Kind::ReduceScatter, 8, {17.9, 111.29, 1399.36}},
    {"h100", Kind::AllToAll, 8, {18.58, 124.9, 1490.42}},
    {"h100", Kind::AllReduce, 8, {37.46, 197.34, 2040.31}},
    {"h100", Kind::AllGather, 8, {24.28, 123.38, 1394.97}},
    {"h100", Kind::ReduceScatter, 8, {19.71, 111.62, 1393.35}},
    {"h100", Kind::AllToAll, 8, {17.73, 124.12, 1509.91}},
    {"b200", Kind::AllReduce, 8, {32.08, 167.82, 1334.56}},
    {"b200", Kind::AllGather, 8, {24.38, 113.75, 761.42}},
    {"b200", Kind::ReduceScatter, 8, {20.99, 107.13, 766.45}},
    {"b200", Kind::AllToAll, 8, {22.12, 88.8, 834.17}},
    {"b200", Kind::AllReduce, 8, {32.21, 166.86, 1335.36}},
    {"b200", Kind::AllGather, 8, {21.52, 111.84, 756.94}},
    {"b200", Kind::ReduceScatter, 8, {20.35, 105.88, 764.89}},
    {"b200", Kind::AllToAll, 8, {19.16, 79.16, 809.9}},
    {"b200", Kind::AllReduce, 4, {27.5, 122.81, 1282.15}},
    {"b200", Kind::AllGather, 4, {18.59, 71.86, 714.45}},
    {"b200", Kind::ReduceScatter, 4, {17.58, 71.5, 733.3}},
    {"b200", Kind::AllToAll, 4, {18.77, 74.23, 825.37}},
    {"b200", Kind::AllReduce, 4, {23.47, 121.48, 1268.31}},
    {"b200", Kind::AllGather, 4, {18.07, 70.71, 704.32}},
    {"b200", Kind::ReduceScatter, 4, {17, 70.13, 724.71}},
    {"b200", Kind::AllToAll, 4, {18.16, 72.63, 786.48}},
};

TEST_CASE("the form of NCCL is within a tenth of measured points on the mean") {
  double sum = 0.0;
  double worst = 0.0;
  int points = 0;
  for (const Measured& each : kMeasured) {
    double bytes = 2097152.0;
    for (const double measured : each.times) {
      const Seconds time =
          nccl_time(*nccl_shares(each.shares), each.kind, each.members, Bytes(bytes));
      const double error = std::abs(time.in_base_units() * 1e6 / measured - 1.0);
      sum += error;
      worst = std::max(worst, error);
      ++points;
      bytes *= 16.0;
    }
  }
  CHECK(points == 84);
  CHECK(sum / points < 0.1);
  CHECK(worst < 0.55);
  CHECK(nccl_shares("l4") == nullptr);
}

}  // namespace
}  // namespace dfsearch::collective
