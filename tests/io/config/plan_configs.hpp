#pragma once
// A good config of plans, and what loading it with changes gives.

#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "io/config/config_messages.hpp"
#include "io/config/load_config.hpp"

namespace dfsearch::test {

inline constexpr const char* kGoodPlan = R"(workload:
  kind: llm_training
  hidden: 64
  heads: 4
  head_dim: 16
  vocabulary: 512
  sequence: 32
  layers: 12
  global_batch: 64
system:
  chips: 16
  accelerator: {cores: 4, lanes: 2, stages: 2, frequency: 1 GHz, sram: 1 MB}
  memory: {bandwidth: 1 TB/s, capacity: 80 GB}
  network:
    - {topology: switch, degree: 8, bandwidth: 300 GB/s, latency: 5 us}
    - {topology: ring, bandwidth: 25 GB/s}
execution:
  efficiency:
    matrix: {efficiency: [[1 GFLOP, 0.9], [0 FLOP, 0.1]]}
training:
  data_overlap: yes
)";

using Overrides = std::vector<std::string>;

inline TrainingConfig config_of(const std::string& text, const Overrides& overrides = {}) {
  return std::get<TrainingConfig>(parse_any_config(text, "c.yaml", overrides));
}

inline training::Task task_of(const Overrides& overrides) {
  return config_of(kGoodPlan, overrides).task;
}

inline std::string message(const std::string& text, const Overrides& overrides = {}) {
  try {
    parse_any_config(text, "c.yaml", overrides);
    return "accepted";
  } catch (const InputError& error) {
    return joined(error.messages());
  }
}

inline std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos) throw std::logic_error("the good config has no " + what);
  return text.replace(at, what.size(), by);
}

}  // namespace dfsearch::test
