#pragma once
// The end of a study, for people.

#include <string>
#include <vector>

#include "io/study/study_outputs.hpp"
#include "study/point_answer.hpp"

namespace dfsearch {

/// Counts, the front or the best points, and how sure they are; where the rates of points differ in
/// kind, of which points.  Aligned, of at most 100 columns but for long labels.
std::string study_report(const Study& study, const study::Grid& grid, const StudyState& state,
                         const std::vector<study::Front::Member>& front,
                         const study::PointAnswers& answers);

}  // namespace dfsearch
