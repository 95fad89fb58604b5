#pragma once
// Multi-token prediction (MTP): its modules as layers behind the others of a model.
//
// DeepSeek-AI: "DeepSeek-V3 Technical Report", 2024, section 2.2.

#include <cstdint>

#include "graph/workloads/llm/transformer.hpp"

namespace dfsearch {

/// Appends the layers of the given number of modules, without their heads.  A model of several
/// kinds of layers takes the module of its family, with the product that joins two tokens, or one
/// layer like its last if the family has none.  The module of another model is one more equal
/// layer.
void add_prediction_layers(Transformer& model, std::int64_t modules);

}  // namespace dfsearch
