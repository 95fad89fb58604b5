#pragma once
// The time and the memory of many runs at once.

#include <vector>

#include "io/predict/run_table.hpp"
#include "model/training/evaluate.hpp"

namespace dfsearch {

struct Prediction {
  training::RunTime typical;
  Seconds low{}, high{};  ///< all classes of constants at their low, or high, values
};

/// One for each run, nothing where it has no task.  Uses the threads of
/// the arena that calls.
std::vector<std::optional<Prediction>> predict_runs(const std::vector<MeasuredRun>& runs);

}  // namespace dfsearch
