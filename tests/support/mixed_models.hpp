#pragma once
// Small random models of several kinds of layers for tests.

#include <cstdint>
#include <random>

#include "graph/workloads/blocks/mixed_layers.hpp"

namespace dfsearch::test {

/// One to four kinds in any order, of attention, latent attention, state spaces, delta rules,
/// convolutions, MLPs and experts.  The same for the same state of `random` on every machine.
Transformer random_mixed_model(std::mt19937_64& random, std::int64_t most_layers);

/// A model of the given kinds, once each in this order, of so wide layers.
ModelShape shape_of_kinds(std::vector<LayerKind> kinds, std::int64_t hidden,
                          std::vector<std::uint16_t> layers);

}  // namespace dfsearch::test
