// What a step is spent on, against hand calculation.

#include "model/step/step_time.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

using doctest::Approx;

}  // namespace

TEST_CASE("what a partition is charged for adds up to its time") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const Ticks compute = test::pick(random, 0, 5);
    const Ticks memory = test::pick(random, 0, 5);
    const Ticks network = test::pick(random, 0, 5);
    CAPTURE(compute);
    CAPTURE(memory);
    CAPTURE(network);
    for (const Overlap overlap : {Overlap::Perfect, Overlap::None, Overlap::ComputeMemory}) {
      const ChargedTime charged = charged_time(overlap, compute, memory, network);
      CHECK(charged.compute + charged.memory + charged.network ==
            overlapped(overlap, compute, memory, network));
      for (const auto& [part, whole] :
           {std::pair(charged.compute, compute), std::pair(charged.memory, memory),
            std::pair(charged.network, network)}) {
        CHECK((part == 0 || part == whole));
      }
    }
  }
  const ChargedTime tie = charged_time(Overlap::Perfect, 3, 3, 3);
  CHECK(tie.compute == 3);
  CHECK(charged_time(Overlap::ComputeMemory, 3, 3, 1).compute == 3);
  CHECK(charged_time(Overlap::Perfect, 2, 3, 3).memory == 3);
}

TEST_CASE("charges for ever and ever are for ever, not less than nothing") {
  ChargedTime sum;
  for (int partitions = 0; partitions < 9; ++partitions) {
    sum += {.compute = kNever, .memory = kNever - 1, .network = 1};
  }
  CHECK(sum.compute == kNever);
  CHECK(sum.memory == kNever);
  CHECK(sum.network == 9);
  const TimeShares shares = time_shares({}, Clock(Seconds(1.0)), sum);
  CHECK(shares.compute == Approx(0.5));
  CHECK(shares.memory == Approx(0.5));
}

// test::example() derives the numbers: partition 0 computes 1.35 s, moves 1.6 s and communicates
// 0.8 s, partition 1 computes 0.2 s and moves 1.6 s; 12 layers and samples, bubble 7/6, 12 s of
// transfers.
TEST_CASE("shares of the step time are those of hand calculation") {
  Problem problem = test::example();
  SUBCASE("perfect overlap: both partitions are charged for memory") {
    const TimeShares shares = test::cost_of(problem, test::example_mapping()).shares;
    const double step = 3.2 * 14 + 12;
    CHECK(shares.compute == 0.0);
    CHECK(shares.memory == Approx(3.2 * 12 / step));
    CHECK(shares.network == 0.0);
    CHECK(shares.bubble == Approx(3.2 * 2 / step));
    CHECK(shares.transfer == Approx(12 / step));
    CHECK(std::string(name_of(shares.largest())) == "memory");
  }
  SUBCASE("no overlap: everything is charged") {
    problem.execution.overlap = Overlap::None;
    const TimeShares shares = test::cost_of(problem, test::example_mapping()).shares;
    const double step = (1.55 + 3.2 + 0.8) * 14 + 12;
    CHECK(shares.compute == Approx(1.55 * 12 / step));
    CHECK(shares.memory == Approx(3.2 * 12 / step));
    CHECK(shares.network == Approx(0.8 * 12 / step));
    CHECK(shares.bubble == Approx(5.55 * 2 / step));
  }
  SUBCASE("compute hides behind memory, the network behind nothing") {
    problem.execution.overlap = Overlap::ComputeMemory;
    const TimeShares shares = test::cost_of(problem, test::example_mapping()).shares;
    const double step = (3.2 + 0.8) * 14 + 12;
    CHECK(shares.compute == 0.0);
    CHECK(shares.memory == Approx(3.2 * 12 / step));
    CHECK(shares.network == Approx(0.8 * 12 / step));
    CHECK(shares.bubble == Approx(4.0 * 2 / step));
  }
  SUBCASE("weights that are loaded for every sample are memory") {
    // 48 B at 40 B/s once a sample: 1.2 s on top of what overlaps.
    problem.equations.weight_traffic = WeightTraffic::PerSample;
    const TimeShares shares = test::cost_of(problem, test::example_mapping()).shares;
    const double step = 4.4 * 14 + 12;
    CHECK(shares.memory == Approx(4.4 * 12 / step));
  }
}

TEST_CASE("shares add up to one") {
  int fits = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed);
    const auto verdict = evaluate(problem, test::random_mapping(problem, seed));
    const Cost* cost = std::get_if<Cost>(&verdict);
    if (cost == nullptr) continue;
    ++fits;
    const TimeShares& s = cost->shares;
    CHECK(s.compute + s.memory + s.network + s.bubble + s.transfer == Approx(1.0).epsilon(1e-12));
  }
  CHECK(fits > 50);
}

}  // namespace dfsearch
