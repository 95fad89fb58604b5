#pragma once
// Modules that predict further tokens (MTP) as layers behind those of a model.
//
// DeepSeek-AI: "DeepSeek-V3 Technical Report", 2024, section 2.2.

#include <cstdint>

#include "graph/workloads/llm/transformer.hpp"

namespace dfsearch {

/// Appends the layers of so many modules; each module also has a head, which is not counted here.
/// A model of several kinds of layers takes the module of its family, with the product that joins
/// two tokens, or one layer like its last if the family has none.  An equal layer is the module of
/// other models.
void add_prediction_layers(Transformer& model, std::int64_t modules);

}  // namespace dfsearch
