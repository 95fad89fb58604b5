#pragma once
// Numbers of layers of a model of several kinds (mixed_layers.hpp).

#include <array>
#include <cstddef>
#include <cstdint>

namespace dfsearch {

struct LayerForm;
struct MixedLayers;

/// More than any published model has (Nemotron-NAS has eight).
inline constexpr std::size_t kMostForms = 8;

/// Numbers of layers, by form.
using FormCounts = std::array<std::int64_t, kMostForms>;

}  // namespace dfsearch
