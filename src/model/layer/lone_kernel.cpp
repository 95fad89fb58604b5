#include "model/layer/lone_kernel.hpp"

#include <algorithm>

#include "model/step/step_time.hpp"

namespace dfsearch {

Ticks lone_compute(const Problem& problem, const LayerCosts& costs, KernelId kernel) {
  Ticks compute = problem.execution.compute_utilization
                      ? costs.compute_at_utilization(kernel)
                      : costs.cycle_time(costs.options(kernel).back().cycles);
  for (const Ticks level : costs.with_latency(costs.level_times(kernel))) {
    compute = std::max(compute, level);
  }
  return compute;
}

Ticks kernel_by_kernel_time(const Problem& problem, const LayerCosts& costs) {
  const DataflowGraph& graph = problem.workload.graph;
  Ticks sum = 0;
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    const KernelId id(i);
    const Ticks compute = lone_compute(problem, costs, id);
    Ticks memory = capped_sum(costs.explicit_memory(id), costs.reload(id));
    for (const TensorId t : graph.inputs(id)) memory = capped_sum(memory, costs.transfer(t));
    for (const TensorId t : graph.outputs(id)) memory = capped_sum(memory, costs.transfer(t));
    const Ticks time = overlapped(problem.execution.overlap, compute, costs.with_latency(memory),
                                  costs.network(id));
    sum = capped_sum(sum, std::min(kNever, time + costs.weight_load(id)));
  }
  return sum;
}

LoneKernel lone_kernel(const Problem& problem, const LayerCosts& costs, KernelId kernel) {
  const DataflowGraph& graph = problem.workload.graph;
  const LayerCosts::Held held = costs.held(kernel);
  LoneKernel lone{.inputs = held.inputs,
                  .outputs = held.outputs,
                  .weight = costs.resident_weight(kernel),
                  .has_pieces = graph.kernel(kernel).has_pieces(),
                  .streams = problem.streams_lone_kernels()};
  for (const TensorId t : graph.inputs(kernel)) lone.inputs += costs.streamed_buffer(t);
  for (const TensorId t : graph.outputs(kernel)) lone.outputs += costs.streamed_buffer(t);
  return lone;
}

}  // namespace dfsearch
