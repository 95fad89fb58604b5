#pragma once
// Facts about the answer of a point that its config alone decides.

#include <vector>

#include "io/config/load_config.hpp"
#include "study/figure.hpp"
#include "study/point_answer.hpp"

namespace dfsearch {

/// The figures that an answer of this config has, in the order of study::kFigures.
std::vector<study::Figure> figures_of(const AnyConfig& config);

/// The kind of rates of its times: measured, where the config names software that was measured; of
/// pools that differ, the least sure kind.
study::Rates rates_of(const AnyConfig& config);

}  // namespace dfsearch
