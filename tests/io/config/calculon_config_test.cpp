// Configs with `equations: calculon`: the tasks that they describe.

#include <doctest/doctest.h>

#include <string>
#include <variant>
#include <vector>

#include "io/config/load_config.hpp"
#include "support/calculon_worlds.hpp"

namespace dfsearch {
namespace {

constexpr const char* kGood = R"(workload:
  kind: llm_training
  hidden: 64
  mlp: 256
  sequence: 32
  heads: 4
  head_dim: 16
  layers: 12
system:
  chips: 16
  matrix: {peak: 100 TFLOP/s, efficiency: [[1 GFLOP, 0.9], [0 FLOP, 0.1]]}
  vector: {peak: 10 TFLOP/s, efficiency: [[0 FLOP, 0.5]]}
  memory:
    capacity: 80 GiB
    bandwidth: 2 TB/s
    efficiency: [[100 MB, 0.9], [0 B, 0.3]]
    second: {capacity: 1 TB, bandwidth: 32 GB/s, efficiency: [[0 B, 0.9]]}
  networks:
    - {size: 8, filled: yes, bandwidth: 300 GB/s, efficiency: 0.65, all_reduce: [2, -1]}
    - {size: 1024, bandwidth: 25 GB/s, latency: 20 us, processor_usage: 0.02}
equations: calculon
calculon:
  global_batch: 64
)";

calculon::Task task_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return std::get<CalculonConfig>(parse_any_config(text, "c.yaml", overrides)).task;
}

template <class Work>
void check_same(const EfficiencyCurve<Work>& a, const EfficiencyCurve<Work>& b) {
  REQUIRE(a.steps.size() == b.steps.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    CHECK(a.steps[i].from == b.steps[i].from);
    CHECK(a.steps[i].share == b.steps[i].share);
  }
}

void check_same(const MemoryTier& a, const MemoryTier& b) {
  CHECK(a.capacity == b.capacity);
  CHECK(a.bandwidth == b.bandwidth);
  check_same(a.efficiency, b.efficiency);
}

void check_same(const NetworkDimension& a, const NetworkDimension& b) {
  CHECK(a.degree == b.degree);
  CHECK(a.measured->filled == b.measured->filled);
  CHECK(a.bandwidth == b.bandwidth);
  CHECK(a.measured->efficiency == b.measured->efficiency);
  CHECK(a.latency == b.latency);
  CHECK(a.measured->processor_usage == b.measured->processor_usage);
  for (std::size_t i = 0; i < a.measured->operations.size(); ++i) {
    CHECK(a.measured->operations[i].factor == b.measured->operations[i].factor);
    CHECK(a.measured->operations[i].offset == b.measured->operations[i].offset);
  }
}

TEST_CASE("the shipped systems are those of the published runs") {
  for (const auto& [name, file] : {std::pair('A', "systems/calculon_a100_80g.yaml"),
                                   std::pair('H', "systems/calculon_h100_80g.yaml")}) {
    CAPTURE(file);
    const auto any =
        load_any_config("configs/calculon_1t.yaml", {std::string("system.from=") + file});
    const Machine& machine = std::get<CalculonConfig>(any).task.machine;
    const Machine known = test::calculon_machine(name, 1024);
    CHECK(machine.chips == 1024);
    CHECK(machine.matrix.peak == known.matrix.peak);
    CHECK(machine.vector.peak == known.vector.peak);
    check_same(machine.matrix.efficiency, known.matrix.efficiency);
    check_same(machine.vector.efficiency, known.vector.efficiency);
    check_same(machine.memory[0], known.memory[0]);
    check_same(machine.memory.at(1), known.memory.at(1));
    REQUIRE(machine.network.size() == known.network.size());
    for (std::size_t i = 0; i < known.network.size(); ++i) {
      check_same(machine.network[i], known.network[i]);
    }
  }
}

TEST_CASE("all decisions are read") {
  const std::string all = std::string(kGood) + R"(  maximum_batch: 100
  tensor: 2
  pipeline: 4
  data: 2
  networks: [0, 1, 1]
  micro_batch: 4
  chunks: 3
  recompute: attn
  communication: rs
  overlap: pipe
  redo: yes
  data_overlap: true
  fused: no
  sharding: yes
  offload: [weights, optimizer]
)";
  const calculon::ExecutionChoices choices = task_of(all).choices;
  CHECK(choices.tensor == 2);
  CHECK(choices.pipeline == 4);
  CHECK(choices.data == 2);
  CHECK(choices.networks == std::array<std::size_t, 3>{0, 1, 1});
  CHECK(choices.global_batch == 64);
  CHECK(choices.maximum_batch == 100);
  CHECK(choices.micro_batch == 4);
  CHECK(choices.chunks == 3);
  CHECK(choices.recompute == calculon::Recompute::Attention);
  CHECK(choices.communication == calculon::Communication::ReduceScatter);
  CHECK(choices.overlap == calculon::Overlap::Pipe);
  CHECK(choices.redo == true);
  CHECK(choices.data_overlap == true);
  CHECK(choices.fused == false);
  CHECK(choices.sharding == true);
  CHECK(choices.offload == Offload{.weights = true, .optimizer = true});
}

TEST_CASE("what is left out is open, and none is the same as an empty list") {
  const calculon::ExecutionChoices open = task_of(kGood).choices;
  CHECK_FALSE(open.tensor.has_value());
  CHECK_FALSE(open.offload.has_value());
  CHECK_FALSE(open.redo.has_value());
  CHECK(open.fused);
  for (const char* none : {"calculon.offload=none", "calculon.offload=[]"}) {
    CHECK(task_of(kGood, {none}).choices.offload == Offload{});
  }
  CHECK_FALSE(task_of(kGood, {"system.memory.second=null"}).machine.second_memory() != nullptr);
  CHECK(task_of(kGood, {"equations={preset: calculon}"}).machine.chips == 16);
}

}  // namespace
}  // namespace dfsearch
