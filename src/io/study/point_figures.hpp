#pragma once
// Which figures a point of a study can have at all.

#include <vector>

#include "io/config/load_config.hpp"
#include "study/figure.hpp"

namespace dfsearch {

/// The figures that an answer of this config has, in the order of study::kFigures.
std::vector<study::Figure> figures_of(const AnyConfig& config);

}  // namespace dfsearch
