#pragma once
// The layers of a stack in a few words, for people.

#include <string>

#include "graph/workloads/blocks/model_shape.hpp"

namespace dfsearch {

/// Runs of equal layers, those that repeat in brackets: "12 x (3 deltanet+moe, 1 attention+moe)".
/// Totals of each kind where this has more than eight runs: "23 mamba2, 23 moe, 6 attention in an
/// order of their own".
std::string layer_summary(const Stack& stack);

}  // namespace dfsearch
