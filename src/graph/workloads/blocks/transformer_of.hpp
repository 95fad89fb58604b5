#pragma once
// The transformer of equal layers (llm/transformer.hpp) that a shape is, if it is one.

#include <optional>
#include <string>

#include "graph/workloads/blocks/model_shape.hpp"
#include "graph/workloads/llm/transformer.hpp"

namespace dfsearch {

/// A transformer, or the reason why there is none.
struct UniformTransformer {
  std::optional<Transformer> model;
  std::string why;       ///< "layers with the block mamba2"; empty with a model
  std::string left_out;  ///< parts of the shape that the model lacks; for people
};

/// Returns the first stack as a transformer with the same numbers of parameters and FLOP, to the
/// digit, without other stacks and modules that predict further tokens. Chunks of attention become
/// windows.
UniformTransformer transformer_of(const ModelShape& shape);

}  // namespace dfsearch
