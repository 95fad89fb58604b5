// Points that Calculon itself gave, and what follows from the equations.

#include "model/calculon/evaluate.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>

#include "support/calculon_worlds.hpp"

namespace dfsearch::calculon {
namespace {

using test::calculon_machine;
using test::megatron;

/// One run of Calculon: r redo, d data overlap, f fused, z sharding, i inference; w, a, o what is
/// offloaded.
struct Point {
  char machine;
  const char* model;
  std::array<std::int64_t, 3> degrees;
  std::array<std::size_t, 3> networks;
  std::int64_t batch;
  std::int64_t micro_batch;
  std::int64_t chunks;
  Recompute recompute;
  Communication communication;
  Overlap overlap;
  const char* flags;
  const char* offload;
  double seconds;
  double first;
  double second;
};

constexpr auto kFull = Recompute::Full;
constexpr auto kAttention = Recompute::Attention;
constexpr auto kNothing = Recompute::None;
constexpr auto kAr = Communication::AllReduce;
constexpr auto kP2p = Communication::PointToPoint;
constexpr auto kRs = Communication::ReduceScatter;
constexpr auto kNo = Overlap::None;
constexpr auto kRing = Overlap::Ring;
constexpr auto kPipe = Overlap::Pipe;

// The first eight are the runs of Megatron on Selene that Calculon was validated with.
// clang-format off
constexpr std::array kPoints = {
    Point{'A', "22B", {8, 1, 1}, {0, 1, 1}, 4, 4, 1, kFull, kAr, kNo, "", "", 1.395595365, 51705331712.0, 0.0},
    Point{'A', "22B", {8, 1, 1}, {0, 1, 1}, 4, 4, 1, kAttention, kRs, kNo, "r", "", 1.1366701, 55920607232.0, 0.0},
    Point{'A', "175B", {8, 8, 1}, {0, 1, 1}, 64, 1, 3, kFull, kAr, kNo, "", "", 18.02877955, 51649806336.0, 0.0},
    Point{'A', "175B", {8, 8, 1}, {0, 1, 1}, 64, 1, 3, kAttention, kRs, kNo, "r", "", 13.6380643, 58060800000.0, 0.0},
    Point{'A', "530B", {8, 35, 1}, {0, 1, 1}, 280, 1, 3, kFull, kAr, kNo, "", "", 49.89257694, 45386465280.0, 0.0},
    Point{'A', "530B", {8, 35, 1}, {0, 1, 1}, 280, 1, 3, kAttention, kRs, kNo, "r", "", 34.47279469, 57487032320.0, 0.0},
    Point{'A', "1T", {8, 64, 1}, {0, 1, 1}, 512, 1, 1, kFull, kAr, kNo, "", "", 90.08094425, 49679769600.0, 0.0},
    Point{'A', "1T", {8, 64, 1}, {0, 1, 1}, 512, 1, 1, kAttention, kRs, kNo, "r", "", 66.04067451, 63507865600.0, 0.0},
    Point{'A', "1T", {4, 64, 12}, {0, 1, 1}, 3072, 4, 1, kFull, kRs, kNo, "fz", "", 131.9006168, 85420663466.7, 0.0},
    Point{'A', "1T", {16, 16, 4}, {1, 1, 1}, 1024, 1, 1, kFull, kAr, kNo, "fz", "", 144.5085626, 38975846400.0, 0.0},
    Point{'H', "1T", {8, 64, 8}, {0, 1, 1}, 4096, 1, 2, kAttention, kRs, kNo, "rdfz", "", 24.77857801, 45112857600.0, 0.0},
    Point{'A', "175B", {8, 8, 1}, {0, 1, 1}, 64, 1, 1, kNothing, kAr, kNo, "fi", "", 5.092614123, 6091309056.0, 0.0},
    Point{'A', "1T", {8, 16, 8}, {0, 1, 1}, 1024, 2, 8, kAttention, kRs, kRing, "dfz", "", 50.92742417, 84036992000.0, 0.0},
    Point{'A', "1T", {8, 1, 128}, {0, 0, 1}, 1024, 8, 1, kAttention, kRs, kRing, "dfz", "wao", 47.21603087, 19284603200.0, 443286937600.0},
    Point{'A', "530B", {32, 6, 3}, {1, 1, 1}, 6, 1, 3, kAttention, kP2p, kNo, "d", "", 3.384242816, 63724748800.0, 0.0},
    Point{'H', "22B", {8, 12, 8}, {0, 1, 1}, 48, 3, 4, kNothing, kRs, kPipe, "rfz", "", 0.3176559098, 7881558016.0, 0.0},
    Point{'A', "530B", {8, 20, 1}, {0, 1, 0}, 16, 2, 6, kFull, kAr, kNo, "", "", 12.4482085, 75522277376.0, 0.0},
    Point{'A', "175B", {1, 12, 16}, {0, 1, 1}, 48, 3, 4, kFull, kP2p, kNo, "dz", "o", 35.74839429, 58184448000.0, 12683919360.0},
    Point{'H', "22B", {4, 4, 64}, {1, 0, 1}, 2048, 1, 6, kFull, kRs, kPipe, "df", "", 4.949506308, 24193318912.0, 0.0},
    Point{'A', "22B", {2, 8, 32}, {1, 1, 1}, 1632, 3, 2, kAttention, kP2p, kNo, "d", "a", 10.05633801, 29094100992.0, 54333014016.0},
    Point{'A', "22B", {1, 48, 4}, {0, 1, 1}, 64, 1, 1, kAttention, kP2p, kNo, "df", "", 2.028020821, 16073015296.0, 0.0},
    Point{'H', "1T", {8, 32, 1}, {1, 1, 0}, 128, 1, 4, kNothing, kAr, kNo, "", "ao", 25.83617911, 41291571200.0, 230325452800.0},
};
// clang-format on

bool has(const char* letters, char letter) {
  return std::string(letters).find(letter) != std::string::npos;
}

Execution execution_of(const Point& point) {
  return {.tensor = point.degrees[0],
          .pipeline = point.degrees[1],
          .data = point.degrees[2],
          .global_batch = point.batch,
          .micro_batch = point.micro_batch,
          .chunks = point.chunks,
          .recompute = point.recompute,
          .communication = point.communication,
          .overlap = point.overlap,
          .redo = has(point.flags, 'r'),
          .fused = has(point.flags, 'f'),
          .sharding = has(point.flags, 'z'),
          .offload = {.weights = has(point.offload, 'w'),
                      .activations = has(point.offload, 'a'),
                      .optimizer = has(point.offload, 'o')},
          .data_overlap = has(point.flags, 'd'),
          .networks = point.networks};
}

Cost cost_of(const Point& point) {
  Machine machine =
      calculon_machine(point.machine, point.degrees[0] * point.degrees[1] * point.degrees[2]);
  ModelShape transformer = megatron(point.model);
  transformer.training = !has(point.flags, 'i');
  const auto verdict = evaluate(transformer, machine, execution_of(point));
  REQUIRE_MESSAGE(std::holds_alternative<Cost>(verdict), point.model);
  return std::get<Cost>(verdict);
}

/// Half a unit of the tenth digit.
double tenth_digit(double value) {
  return 0.5 * std::pow(10.0, std::floor(std::log10(value)) - 9.0);
}

TEST_CASE("points of Calculon to ten digits") {
  for (const Point& point : kPoints) {
    CAPTURE(point.model);
    CAPTURE(point.seconds);
    const Cost cost = cost_of(point);
    CHECK(std::abs(cost.step_time.in_base_units() - point.seconds) <=
          1.001 * tenth_digit(point.seconds));
    CHECK(std::abs(cost.memory.first.total().in_base_units() - point.first) < 0.051);
    CHECK(cost.memory.second.total().in_base_units() == point.second);
  }
}

TEST_CASE("the best execution of the 1T model on 1024 A100, part by part") {
  const Cost cost = cost_of(kPoints[12]);
  const auto near = [](Seconds value, double expected) {
    return std::abs(value.in_base_units() - expected) <= 1.001 * tenth_digit(expected);
  };
  CHECK(cost.step_time == Seconds(50.927424165832626));
  CHECK(near(cost.parts.forward, 16.29373283));
  CHECK(near(cost.parts.backward, 31.07677177));
  CHECK(near(cost.parts.recompute, 0.6911681236));
  CHECK(near(cost.parts.optimizer, 0.007788482872));
  CHECK(near(cost.parts.bubble, 1.443609351));
  CHECK(near(cost.parts.pipeline, 1.213526471));
  CHECK(near(cost.parts.data, 0.2008271403));
  CHECK(cost.parts.tensor == Seconds{});
  CHECK(cost.parts.tensor_again == Seconds{});
  CHECK(cost.parts.offload == Seconds{});
  CHECK(near(cost.block.forward.time, 0.03182369693));
  CHECK(near(cost.block.input_gradient.time, 0.03192606915));
  CHECK(near(cost.block.weight_gradient.time, 0.02877075071));
  CHECK(near(cost.block.recompute.time, 0.001349937741));
  CHECK(cost.block_memory.working == Bytes(1179648000.0));
  CHECK(cost.block_memory.kept == Bytes(340787200.0));
  CHECK(cost.block_memory.gradients == Bytes(1284505600.0));
}

TEST_CASE("the best execution with offloading, to the last bit, and its twin") {
  CHECK(cost_of(kPoints[13]).step_time == Seconds(47.216030868133664));
  Point twin = kPoints[13];
  twin.offload = "wa";
  CHECK(cost_of(twin).step_time == Seconds(47.216030868133664));
}

}  // namespace
}  // namespace dfsearch::calculon
