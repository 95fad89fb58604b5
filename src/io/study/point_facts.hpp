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

/// The kind of rates behind its times: measured if the config names measured software; if pools
/// differ, the least certain kind.
study::Rates rates_of(const AnyConfig& config);

// Conditions under which points of a study bound others (docs/search.md, section 16).

/// Whether points of this problem may be bounded by others at all.
bool grows(const Config& config);

/// Whether `b` is the problem `a` with no less of any quantity, price or power.
bool is_no_less(const Config& a, const Config& b);

/// Whether the order of the choices of a dimension is the same for any choices of the other
/// dimensions.  The choices then set only quantities, prices and powers, and a key that some choice
/// leaves out has one value for all points.
bool sets_quantities(const Study& study, std::size_t dimension);

}  // namespace dfsearch
