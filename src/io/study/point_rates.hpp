#pragma once
// Which rates the times of a point are of.

#include "io/config/load_config.hpp"
#include "study/point_answer.hpp"

namespace dfsearch {

/// Measured, where the config names software that was measured; of pools that differ, the least
/// that is said of one.
study::Rates rates_of(const AnyConfig& any);

}  // namespace dfsearch
