#pragma once
// Facts about the answer of a point that its config alone decides.

#include <cstddef>
#include <vector>

#include "io/config/load_config.hpp"
#include "io/study/study_file.hpp"
#include "study/figure.hpp"
#include "study/point_answer.hpp"

namespace dfsearch {

/// The figures that an answer of this config has, in the order of study::kFigures.
std::vector<study::Figure> figures_of(const AnyConfig& config);

/// The kind of rates of its times: measured, where the config names software that was measured; of
/// pools that differ, the least sure kind.
study::Rates rates_of(const AnyConfig& config);

// Which points of a study bound others (docs/search.md, section 16).

/// Whether points of a problem may be bounded by others at all.
bool grows(const Config& config);

/// Whether `b` is the problem `a` with no less of any quantity, price or power.
bool is_no_less(const Config& a, const Config& b);

/// Whether the choices of a dimension compare alike wherever the other ones stand: they set
/// quantities, prices and powers only, and these are all the same keys, or keys that a choice
/// leaves out are the same for all points.
bool sets_quantities(const Study& study, std::size_t dimension);

}  // namespace dfsearch
