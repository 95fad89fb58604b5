#pragma once
// The engine, chips and formats of worked cases of an independent program.

#include "model/serving/task.hpp"

namespace dfsearch::test {

inline serving::Engine engine_of_cases() {
  serving::Engine engine;
  engine.layer = Seconds(50e-6);
  engine.expert_layer = Seconds(20e-6);
  engine.request = Seconds(10e-6);
  engine.exchange = serving::Exchange::Gather;
  engine.shares = {.matrix = 0.7,
                   .matrix_8bit = 0.52,
                   .matrix_4bit = 0.45,
                   .experts = {},
                   .experts_scale = 0.6,
                   .experts_memory = 0.85,
                   .attention = 0.5,
                   .memory = 0.9,
                   .cache = 0.7,
                   .network = 0.75};
  return engine;
}

inline serving::Pool pool_of(double bf16, serving::Number format, double peak, double reading,
                             double link) {
  serving::Pool pool;
  pool.chips = 4;
  pool.peak[static_cast<std::size_t>(serving::Number::Bf16)] = FlopsPerSecond(bf16);
  pool.peak[static_cast<std::size_t>(format)] = FlopsPerSecond(peak);
  pool.machine.memory[0].bandwidth = BytesPerSecond(reading);
  pool.machine.network = {{.topology = Topology::Switch,
                           .degree = 8,
                           .bandwidth = BytesPerSecond(link),
                           .strategy = {},
                           .latency = Seconds(2e-6)}};
  pool.engine = engine_of_cases();
  return pool;
}

inline serving::Precision precision_of(serving::Number weights) {
  serving::Precision precision;
  precision.weights = weights;
  precision.cache = serving::Number::Fp8;
  precision.head = serving::Number::Bf16;
  precision.modules[static_cast<std::size_t>(serving::Module::Router)].weights =
      serving::Number::Bf16;
  return precision;
}

}  // namespace dfsearch::test
