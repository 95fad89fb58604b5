// What a kernel takes of the SRAM by itself, against partitions of `evaluate` with one kernel.

#include <doctest/doctest.h>

#include <cstdint>
#include <variant>

#include "model/evaluate.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/layer/lone_kernel.hpp"
#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

/// Every kernel in a partition of its own, in topological order.
Mapping all_alone(const Problem& problem) {
  Mapping mapping = test::plain_mapping(problem);
  const auto order = problem.workload.graph.topological_order();
  for (std::size_t i = 0; i < order.size(); ++i) {
    mapping.partition[order[i].index()] = static_cast<std::int64_t>(i);
  }
  return mapping;
}

TEST_CASE("a kernel alone takes what the model says, and fits or not for the same reason") {
  int fitting = 0;
  int cut = 0;
  int overflowing = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    Problem problem = test::random_problem(seed);
    problem.execution.style = Style::KernelByKernel;
    problem.equations.lone_kernels = LoneKernels::Whole;
    problem.execution.pins.clear();
    problem.system.memory[0].capacity = Bytes::infinity();
    problem.system.memory.resize(1);
    const Mapping mapping = all_alone(problem);
    const LayerCosts costs(problem, {.network = mapping.network,
                                     .sharding = loop_sets(mapping.sharding),
                                     .micro_batch = mapping.micro_batch,
                                     .tile = mapping.tile});
    const DataflowGraph& graph = problem.workload.graph;
    const Bytes sram = problem.system.accelerator.sram;
    const auto verdict = evaluate(problem, mapping);
    const auto* wrong = std::get_if<Infeasible>(&verdict);
    if (wrong != nullptr && wrong->resource != Resource::Sram) continue;
    bool overflow = false;
    for (const KernelId kernel : graph.topological_order()) {
      const LoneKernel lone = lone_kernel(problem, costs, kernel);
      if (lone.must_be_alone(sram) && !lone.may_split_weight(sram)) {
        // The first that does not fit is the one that the model names.
        REQUIRE(wrong != nullptr);
        REQUIRE(wrong->where == graph.kernel(kernel).name);
        REQUIRE(lone.least() <= lone.inputs + lone.outputs + lone.weight);
        overflow = true;
        break;
      }
      if (const auto* cost = std::get_if<Cost>(&verdict)) {
        const auto index = static_cast<std::size_t>(mapping.partition[kernel.index()]);
        REQUIRE(cost->partitions[index].sram == lone.inputs + lone.outputs + lone.weight);
        REQUIRE(cost->partitions[index].pieces == lone.pieces(sram));
        cut += lone.may_split_weight(sram);
      }
    }
    REQUIRE((wrong != nullptr) == overflow);
    fitting += wrong == nullptr;
    overflowing += overflow;
  }
  CHECK(fitting > 100);
  CHECK(cut > 20);
  CHECK(overflowing > 20);
}

}  // namespace
}  // namespace dfsearch
