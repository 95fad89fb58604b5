// The first stage has the most blocks and the most micro-batches in flight, so it is the fullest.

#include "model/calculon/memory_use.hpp"

namespace dfsearch::calculon {

// docs/calculon.md (C8)
BlockMemory block_memory(const BlockKernels& kernels, const ModelShape& transformer,
                         const Execution& execution) {
  BlockMemory memory;
  for (const BlockKernel& kernel : kernels) {
    memory.elements += kernel.weights;
    if (kernel.working) memory.working += kernel.activations;
    // `kept` is for training only: without a backward pass, all activations count.
    if (kernel.kept || !transformer.training) memory.kept += kernel.activations;
    if (!transformer.training) continue;
    if (!kernel.output_kept) memory.kept -= kernel.output;
    memory.gradients += kernel.gradients;
  }
  memory.weights = Bytes(memory.elements * kWord);
  if (transformer.training && execution.recompute == Recompute::Full) {
    memory.kept = Bytes{};
    memory.checkpoint = Bytes(static_cast<double>(execution.micro_batch) *
                              static_cast<double>(transformer.sequence) *
                              static_cast<double>(transformer.hidden) * kWord);
  }
  return memory;
}

// docs/calculon.md (C9), (C10)
MemoryUse memory_use(const BlockMemory& block, const Schedule& schedule,
                     const ModelShape& transformer, const Execution& execution) {
  const bool full = block.checkpoint > Bytes{};
  const double parts = execution.sharding ? static_cast<double>(execution.data) : 1.0;
  const Bytes summed(4.0 * block.elements);             // gradients of weights, 32 bits
  const Bytes waiting(block.elements * kWord / parts);  // gradients that ranks divide, 16 bits
  const Bytes states(12.0 * block.elements / parts);
  MemoryUse use;
  MemoryParts& first = use.first;
  MemoryParts& second = use.second;
  first.weights = schedule.blocks * block.weights;
  first.activations = block.working;
  const double stored = schedule.blocks * schedule.in_flight;
  if (transformer.training) {
    first.activations += full ? block.checkpoint * stored : block.kept * (stored - 1.0);
    first.gradients = block.gradients;
    first.weight_gradients = summed + (schedule.blocks - 1.0) * waiting;
    first.optimizer = schedule.blocks * states;
  }
  // The first memory holds the block in use and the next block, which is on its way.
  if (execution.offload.weights) {
    second.weights = first.weights;
    first.weights = 2.0 * block.weights;
  }
  if (execution.offload.activations) {
    second.activations = full ? block.checkpoint * stored : first.activations;
    first.activations = block.working + (full ? 2.0 * block.checkpoint : block.kept);
  }
  if (execution.offload.optimizer && transformer.training) {
    second.weight_gradients = schedule.blocks * waiting;
    second.optimizer = first.optimizer;
    first.weight_gradients = summed + waiting;
    first.optimizer = 2.0 * states;
  }
  return use;
}

}  // namespace dfsearch::calculon
