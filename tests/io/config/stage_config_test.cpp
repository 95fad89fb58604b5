// Configs whose stages divide the graph: what is read, and what is wrong with others.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "io/config/config_messages.hpp"
#include "io/config/load_config.hpp"
#include "support/temporary_directory.hpp"

namespace dfsearch {
namespace {

const char* const kStages = R"(workload:
  kind: graph
  global_batch: 8
  layers: 2
  kernels:
    - {name: A, kind: weight_gemm, M: 8, K: 8}
    - {name: B, kind: elementwise, M: 8}
    - {name: B_bwd, kind: elementwise, M: 8, phase: backward, backward_of: B}
    - {name: A_bwd, kind: weight_gemm, M: 8, K: 8, phase: backward, weight_of: A}
  tensors:
    - {from: A, to: B}
    - {from: B, to: A, next_layer: true}
    - {from: B_bwd, to: A_bwd}
    - {from: A_bwd, to: B_bwd, next_layer: true}
system:
  chips: 2
  accelerator: {cores: 4, lanes: 2, stages: 2, frequency: 1 GHz, sram: 1 MB}
  memory: {bandwidth: 1 GB/s}
  network: [{topology: ring, degree: 2, bandwidth: 1 GB/s, strategy: pipeline}]
execution: {stages: graph}
)";

Problem loaded_stages(const std::vector<std::string>& changes = {}) {
  const test::TemporaryDirectory directory;
  directory.write("c.yaml", kStages);
  return load_config(directory.path() / "c.yaml", changes).problem;
}

/// What is wrong, without the place.
std::string wrong_stages(const std::vector<std::string>& changes) {
  try {
    loaded_stages(changes);
  } catch (const InputError& error) {
    const std::string text = error.what();
    return text.substr(text.find(": ") + 2);
  }
  return "";
}

}  // namespace

TEST_CASE("the graph that stages divide has all layers, without what leads to a next one") {
  const Problem problem = loaded_stages({"sharding.pins.A=M"});
  const Workload& workload = problem.workload;
  CHECK(problem.divides_graph());
  CHECK(workload.layers == 1);
  REQUIRE(workload.graph.kernel_count() == 8);
  CHECK(workload.graph.tensor_count() == 6);
  CHECK(workload.graph.seams().empty());
  const std::vector<std::string> names = {"L1.A",     "L1.B",     "L2.A",     "L2.B",
                                          "L2.B_bwd", "L2.A_bwd", "L1.B_bwd", "L1.A_bwd"};
  const std::vector<std::size_t> forward = {0, 0, 0, 0, 3, 2, 1, 0};
  for (std::size_t k = 0; k < names.size(); ++k) {
    CAPTURE(k);
    const Kernel& kernel = workload.graph.kernels()[k];
    CHECK(kernel.name == names[k]);
    CHECK(kernel.forward().value_or(KernelId(0)).index() == forward[k]);
    const bool pinned = kernel.name == "L1.A" || kernel.name == "L2.A";
    CHECK(problem.sharding_pins[k].has_value() == pinned);
  }
}

TEST_CASE("what stages that divide the graph do not take is an error with its place") {
  CHECK(wrong_stages({"workload.layers=3"}).empty());
  CHECK(wrong_stages({"workload.layers=1000000000"}) ==
        "stages: 'stages: graph' divides all layers at once, expected at most 2999 kernels in all, "
        "got 4 in each of 1000000000 layers");
  CHECK(wrong_stages({"search.objective=bottleneck"}).empty());
  CHECK(wrong_stages({"search.objective=bottleneck", "execution.stages=layers"})
            .starts_with("objective: bottleneck needs 'stages: graph' in 'execution'"));
  CHECK(wrong_stages({"execution.pins.A=0"})
            .starts_with("pins: not allowed with 'stages: graph', which numbers the partitions"));
  CHECK(wrong_stages({"workload.boundary=1 B"})
            .starts_with("boundary: not allowed with 'stages: graph', in which a stage sends"));
  CHECK(wrong_stages({"equations.phases=halves"})
            .starts_with("phases: expected separate: with 'stages: graph'"));
  CHECK(wrong_stages({"workload.kernels.2.backward_of=null"}) ==
        "kernels: B_bwd is a backward kernel, which must be in the stage of a forward kernel; "
        "expected 'backward_of' with the name of that kernel");
  CHECK(wrong_stages({"workload.kernels.2.backward_of=A_bwd"}) ==
        "kernels: B_bwd: backward_of: a backward kernel has one, expected a forward kernel");
  CHECK(wrong_stages({"system.memory.capacity=1 GB",
                      "system.memory.second={bandwidth: 1 GB/s, capacity: 1 GB}"})
            .starts_with("memory: expected one memory tier with 'stages: graph'"));
  CHECK(wrong_stages({"system.network.0.strategy=tensor"})
            .starts_with(
                "stages: 'stages: graph' needs the sharding to be chosen before the search"));
  CHECK(wrong_stages({"system.network.0.strategy=tensor", "search.sharding=least_bytes"}).empty());
  CHECK(wrong_stages({"workload={kind: llm_prefill, hidden: 8, heads: 2, head_dim: 4, sequence: 4, "
                      "layers: 2, global_batch: 8}"})
            .starts_with(
                "stages: expected layers: 'stages: graph' needs a workload of kind graph or lstm"));
}

}  // namespace dfsearch
