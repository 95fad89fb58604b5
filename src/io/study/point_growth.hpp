#pragma once
// Which points of a study bound others (docs/search.md, section 16).

#include <cstddef>

#include "io/config/load_config.hpp"
#include "io/study/study_file.hpp"

namespace dfsearch {

/// Whether points of a problem may be bounded by others at all.
bool grows(const Config& config);

/// Whether `b` is the problem `a` with no less of any quantity, price or power.
bool is_no_less(const Config& a, const Config& b);

/// Whether the choices of a dimension compare alike wherever the other ones stand: they set
/// quantities, prices and powers only, and these are all the same keys, or what a choice leaves out
/// is the same for all points.
bool sets_quantities(const Study& study, std::size_t dimension);

}  // namespace dfsearch
