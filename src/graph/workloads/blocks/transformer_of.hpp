#pragma once
// Conversion of a shape to a transformer of equal layers (llm/transformer.hpp), if possible.

#include <optional>
#include <string>

#include "graph/workloads/blocks/model_shape.hpp"
#include "graph/workloads/llm/transformer.hpp"

namespace dfsearch {

/// A transformer, or the reason why the shape is none.
struct UniformTransformer {
  std::optional<Transformer> model;
  std::string why;       ///< "layers with the block mamba2"; empty with a model
  std::string left_out;  ///< parts of the shape that the model lacks, as text for reports
};

/// Returns the first stack as a transformer with the same numbers of parameters and FLOP, to the
/// digit, without other stacks and modules that predict further tokens. Chunks of attention become
/// windows.
UniformTransformer transformer_of(const ModelShape& shape);

}  // namespace dfsearch
