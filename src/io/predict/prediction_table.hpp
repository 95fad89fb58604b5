#pragma once
// What predictions say beside what was measured.

#include <string>
#include <vector>

#include "io/predict/prediction_errors.hpp"

namespace dfsearch {

/// A row for each run, comma-separated, with a header: times in seconds, memory in GiB, the error
/// as a share of what was measured.
std::string prediction_csv(const std::vector<MeasuredRun>& runs, const Predictions& predictions);

/// Errors by each of the groups; pairs of plans of one model in the right order; what fits; the
/// runs farthest off, so many of them.
std::string prediction_report(const std::vector<MeasuredRun>& runs, const Predictions& predictions,
                              const std::vector<RunGroup>& groups, std::size_t worst);

}  // namespace dfsearch
