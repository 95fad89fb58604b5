#pragma once
// The page of a table of runs (docs/pages.md).

#include <string>
#include <vector>

#include "io/predict/prediction_errors.hpp"

namespace dfsearch {

/// The whole file.  `command` repeats it, `group` is what errors are grouped by at first.
std::string prediction_page(const std::vector<MeasuredRun>& runs, const Predictions& predictions,
                            RunGroup group, const std::string& title, const std::string& command);

}  // namespace dfsearch
