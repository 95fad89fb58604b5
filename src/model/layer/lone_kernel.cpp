#include "model/layer/lone_kernel.hpp"

namespace dfsearch {

LoneKernel lone_kernel(const DataflowGraph& graph, const LayerCosts& costs, KernelId kernel) {
  const LayerCosts::Held held = costs.held(kernel);
  LoneKernel lone{.inputs = held.inputs,
                  .outputs = held.outputs,
                  .weight = costs.resident_weight(kernel),
                  .has_pieces = graph.kernel(kernel).has_pieces()};
  for (const TensorId t : graph.inputs(kernel)) lone.inputs += costs.streamed_buffer(t);
  for (const TensorId t : graph.outputs(kernel)) lone.outputs += costs.streamed_buffer(t);
  return lone;
}

}  // namespace dfsearch
