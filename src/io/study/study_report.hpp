#pragma once
// The end of a study, for people.

#include <string>
#include <vector>

#include "io/study/study_outputs.hpp"

namespace dfsearch {

/// Counts, the front, and how sure it is; aligned, of at most 100 columns but for long labels.
std::string study_report(const Study& study, const study::Grid& grid, const StudyState& state,
                         const std::vector<study::Front::Member>& front);

/// A value with its unit.
std::string figure_text(study::Figure figure, double value);

}  // namespace dfsearch
