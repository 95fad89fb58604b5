#include "support/calculon_worlds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <stdexcept>

namespace dfsearch::test {
namespace {

constexpr double kGibi = 1073741824.0;

Engine engine(double peak, std::vector<EfficiencyCurve<Flops>::Step> steps) {
  return {.peak = FlopsPerSecond(peak), .efficiency = {.steps = std::move(steps)}};
}

MemoryTier memory(double capacity, double bandwidth, const std::array<double, 4>& shares) {
  return {.capacity = Bytes(capacity),
          .bandwidth = BytesPerSecond(bandwidth),
          .efficiency = {.steps = {{Bytes(100e6), shares[0]},
                                   {Bytes(10e6), shares[1]},
                                   {Bytes(1e6), shares[2]},
                                   {Bytes(0.0), shares[3]}}}};
}

/// Draws that are the same with every library.
class SeededDraws {
 public:
  explicit SeededDraws(std::uint32_t seed) : generator_(seed) {}
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(generator_() % static_cast<std::uint64_t>(count));
  }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<std::int64_t>(values.size()))];
  }
  /// From `least` to `most`, with all orders of magnitude equally likely.
  double size(double least, double most) {
    const double part = static_cast<double>(below(1 << 20)) / (1 << 20);
    return least * std::pow(most / least, part);
  }

 private:
  std::mt19937 generator_;
};

template <class Work>
EfficiencyCurve<Work> random_curve(SeededDraws& draws) {
  EfficiencyCurve<Work> curve;
  if (draws.below(4) > 0) curve.steps.push_back({Work(draws.size(1e7, 1e9)), 0.9});
  if (draws.below(4) > 0) curve.steps.push_back({Work(draws.size(1e4, 1e6)), 0.6});
  curve.steps.push_back({Work(0.0), draws.one_of({1.0, 0.5, 0.2})});
  return curve;
}

NetworkDimension random_network(SeededDraws& draws, std::int64_t chips) {
  NetworkDimension network{.measured = MeasuredNetwork{}};
  network.degree = draws.below(3) > 0 ? chips : 1 + draws.below(2 * chips);
  network.measured->filled = draws.below(3) == 0;
  network.bandwidth = BytesPerSecond(draws.size(1e9, 1e12));
  network.measured->efficiency = draws.one_of({1.0, 0.8, 0.5});
  network.latency = Seconds(draws.one_of({0.0, 1e-6, 1e-4}));
  network.measured->processor_usage = draws.one_of({0.0, 0.0, 0.05, 0.3});
  for (MeasuredNetwork::Scale& scale : network.measured->operations) {
    scale = {.factor = draws.one_of({1.0, 1.5, 2.0}), .offset = draws.one_of({0.0, -1.0, 1.0})};
  }
  return network;
}

}  // namespace

Machine calculon_machine(char name, std::int64_t chips) {
  const bool h100 = name == 'H';
  Machine machine;
  machine.chips = chips;
  machine.matrix =
      engine(h100 ? 1000e12 : 312e12,
             {{Flops(128e9), 0.95}, {Flops(16e9), 0.9}, {Flops(1e9), 0.6}, {Flops(0.0), 0.1}});
  machine.vector =
      engine(h100 ? 120e12 : 78e12, {{Flops(16e9), 0.95}, {Flops(1e9), 0.5}, {Flops(0.0), 0.1}});
  machine.memory = {memory(80.0 * kGibi, h100 ? 3072e9 : 2048e9, {0.9, 0.75, 0.6, 0.3}),
                    memory(512.0 * kGibi, h100 ? 450e9 : 32e9, {0.95, 0.9, 0.7, 0.3})};
  NetworkDimension near{
      .degree = 8,
      .bandwidth = BytesPerSecond(h100 ? 450e9 : 300e9),
      .strategy = {},
      .latency = Seconds(10e-6),
      .measured = MeasuredNetwork{.filled = true, .efficiency = 0.65, .processor_usage = 0.15}};
  if (h100) {
    near.measured->operations = {{{1.0, 0.0}, {1.0, 0.0}, {1.0, 0.0}, {1.0, 1.0}}};
  } else {
    near.measured->operations = {{{1.0, 0.0}, {1.5, -1.0}, {1.5, -1.0}, {2.0, -1.0}}};
  }
  const NetworkDimension far{
      .degree = 65536,
      .bandwidth = BytesPerSecond(h100 ? 50e9 : 25e9),
      .strategy = {},
      .latency = Seconds(20e-6),
      .measured = MeasuredNetwork{.efficiency = 0.9, .processor_usage = 0.02}};
  machine.network = {near, far};
  return machine;
}

calculon::ModelShape megatron(const std::string& name) {
  const auto of = [](std::int64_t hidden, std::int64_t heads, std::int64_t head_dim,
                     std::int64_t layers) {
    return calculon::ModelShape{.hidden = hidden,
                                .mlp = 4 * hidden,
                                .sequence = 2048,
                                .heads = heads,
                                .head_dim = head_dim,
                                .layers = layers};
  };
  if (name == "22B") return of(6144, 64, 96, 48);
  if (name == "175B") return of(12288, 96, 128, 96);
  if (name == "530B") return of(20480, 128, 160, 105);
  if (name == "1T") return of(25600, 160, 160, 128);
  throw std::invalid_argument("no such model: " + name);
}

CalculonWorld random_calculon_world(std::uint32_t seed) {
  SeededDraws draws(seed);
  CalculonWorld world;
  calculon::ModelShape& transformer = world.transformer;
  transformer.training = draws.below(6) > 0;
  transformer.heads = draws.one_of<std::int64_t>({1, 2, 3, 4, 8, 12});
  transformer.head_dim = draws.one_of<std::int64_t>({16, 64, 80});
  transformer.hidden = transformer.heads * draws.one_of<std::int64_t>({16, 64, 128});
  transformer.mlp = transformer.hidden * 4 + draws.below(2) * 7;
  transformer.sequence = draws.one_of<std::int64_t>({7, 64, 256});
  transformer.layers = 1 + draws.below(12);

  Machine& machine = world.machine;
  machine.chips = draws.below(2) == 0 ? std::int64_t{1} << draws.below(7) : 1 + draws.below(64);
  machine.matrix = {.peak = FlopsPerSecond(draws.size(1e12, 1e15)),
                    .efficiency = random_curve<Flops>(draws)};
  machine.vector = {.peak = FlopsPerSecond(draws.size(1e11, 1e14)),
                    .efficiency = random_curve<Flops>(draws)};
  machine.memory[0] = {.capacity = Bytes(draws.size(3e7, 1e11)),
                       .bandwidth = BytesPerSecond(draws.size(1e10, 1e13)),
                       .efficiency = random_curve<Bytes>(draws)};
  if (draws.below(2) == 0) {
    machine.memory.push_back({.capacity = Bytes(draws.size(1e7, 1e11)),
                              .bandwidth = BytesPerSecond(draws.size(1e9, 1e12)),
                              .efficiency = random_curve<Bytes>(draws)});
  }
  const std::int64_t networks = 1 + draws.below(3);
  for (std::int64_t i = 0; i < networks; ++i) {
    machine.network.push_back(random_network(draws, machine.chips));
  }
  return world;
}

}  // namespace dfsearch::test
