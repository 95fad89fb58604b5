// Configs whose stages divide the graph: what is read.  Wrong ones are in
// tests/cli/transcripts/layers.txt.

#include <doctest/doctest.h>

#include <string>
#include <vector>

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

}  // namespace dfsearch
