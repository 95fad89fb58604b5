#pragma once
// The contents of the memories of a chip of the first stage.

#include "base/units.hpp"
#include "model/calculon/block.hpp"
#include "model/calculon/execution.hpp"

namespace dfsearch::calculon {

/// Memory of one block for one micro-batch.
struct BlockMemory {
  Bytes weights{};
  Bytes working{};     ///< activations while the block computes
  Bytes kept{};        ///< activations until its backward pass; none with full recomputation
  Bytes checkpoint{};  ///< bytes that full recomputation keeps instead, else none
  Bytes gradients{};
  double elements = 0.0;  ///< of the weights

  /// Bytes kept of a micro-batch, which go to the second memory if activations do.
  [[nodiscard]] Bytes stored() const { return kept + checkpoint; }
};

BlockMemory block_memory(const BlockKernels& kernels, const ModelShape& transformer,
                         const Execution& execution);

/// The parts of one memory.
struct MemoryParts {
  Bytes weights{};
  Bytes activations{};
  Bytes gradients{};  ///< of activations
  Bytes weight_gradients{};
  Bytes optimizer{};

  [[nodiscard]] Bytes total() const {
    return weights + activations + gradients + weight_gradients + optimizer;
  }
};

struct MemoryUse {
  MemoryParts first;
  MemoryParts second;
};

MemoryUse memory_use(const BlockMemory& block, const Schedule& schedule,
                     const ModelShape& transformer, const Execution& execution);

}  // namespace dfsearch::calculon
