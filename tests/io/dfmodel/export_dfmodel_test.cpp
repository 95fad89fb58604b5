#include "io/dfmodel/export_dfmodel.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "io/dfmodel/dfmodel_setups.hpp"

namespace dfsearch {
namespace {

using test::check_refused;
using test::imported;
using test::imported_text;
using test::kSetups;

}  // namespace

TEST_CASE("an exported setup reads back to the same problem") {
  for (const auto& entry : std::filesystem::directory_iterator(kSetups)) {
    const std::string name = entry.path().stem().string();
    if (name.starts_with("dlrm") || name == "hpl" || name == "fft") continue;
    INFO(name);
    const Config first = imported(name);
    const std::string text = export_dfmodel(first, name);
    const Config again = imported_text(text);
    const Problem& a = first.problem;
    const Problem& b = again.problem;
    CHECK(a.workload.graph == b.workload.graph);
    CHECK(a.workload.layers == b.workload.layers);
    CHECK(a.workload.global_batch == b.workload.global_batch);
    CHECK(a.workload.micro_batch == b.workload.micro_batch);
    CHECK(a.workload.tile == b.workload.tile);
    CHECK(a.workload.word == b.workload.word);
    CHECK(a.workload.boundary == b.workload.boundary);
    CHECK(a.execution.pins == b.execution.pins);
    CHECK(a.sharding_pins == b.sharding_pins);
    CHECK(a.equations.all_reduce_passes == b.equations.all_reduce_passes);
    CHECK(first.search.gap == again.search.gap);
    // Once more changes nothing, so nothing else was lost either.
    CHECK(export_dfmodel(again, name) == text);
  }
}

TEST_CASE("what DFModel has no field for is refused by key") {
  const auto refused = [](const std::string& key, auto change) {
    Config config = imported("r_r_miscellany");
    change(config);
    check_refused(config, key);
  };
  refused("equations", [](Config& c) { c.problem.equations = Equations::physical(); });
  refused("parallelism", [](Config& c) { c.problem.parallelism[0].most = 8; });
  refused("search.objective", [](Config& c) { c.problem.objective = Objective::PowerEfficiency; });
  refused("execution.pins", [](Config& c) {
    c.problem.execution.style = Style::KernelByKernel;
    c.problem.execution.pins.assign(c.problem.workload.graph.kernel_count(), 0);
  });
  refused("search.sharding", [](Config& c) { c.problem.sharding = ShardingChoice::Joint; });
  refused("price.link", [](Config& c) { c.problem.system.price.link[1] = {}; });
  refused("search.time_limit", [](Config& c) { c.search.time_limit = Seconds(0.5); });
  refused("workload.word", [](Config& c) { c.problem.workload.word = Bytes(0.5); });
  refused("workload.boundary", [](Config& c) { c.problem.workload.boundary = Bytes(64.0); });
  refused("system.network",
          [](Config& c) { c.problem.system.network[0].topology = Topology::Switch; });
  refused("workload.tensors", [](Config& c) {
    const DataflowGraph& graph = c.problem.workload.graph;
    std::vector<Tensor> tensors = graph.tensors();
    std::swap(tensors[3].operand, tensors[4].operand);
    c.problem.workload.graph = DataflowGraph(graph.kernels(), tensors);
  });
  refused("workload.tensors", [](Config& c) {
    const DataflowGraph& graph = c.problem.workload.graph;
    std::vector<Tensor> tensors = graph.tensors();
    tensors[0].value = 0;
    c.problem.workload.graph = DataflowGraph(graph.kernels(), tensors);
  });
  refused("workload.kernels", [](Config& c) {
    const DataflowGraph& graph = c.problem.workload.graph;
    std::vector<Kernel> kernels = graph.kernels();
    kernels[0].parameters = 3;
    c.problem.workload.graph = DataflowGraph(kernels, graph.tensors());
  });
}

}  // namespace dfsearch
