#pragma once
// What predictions say beside what was measured.

#include <optional>
#include <string>
#include <vector>

#include "io/predict/predict_runs.hpp"

namespace dfsearch {

/// By what the table of errors groups runs.
enum class RunGroup : std::uint8_t { Source, Model, Chip, Size };
constexpr auto words(RunGroup) {
  return named<RunGroup>({{"source", RunGroup::Source},
                          {"model", RunGroup::Model},
                          {"gpu", RunGroup::Chip},
                          {"gpus", RunGroup::Size}});
}

/// A row for each run, comma-separated, with a header: times in seconds, memory in GiB, the error
/// as a share of what was measured.
std::string prediction_csv(const std::vector<MeasuredRun>& runs,
                           const std::vector<std::optional<Prediction>>& predictions);

/// Errors by group; pairs of plans of one model in the right order; what fits; the worst runs.
std::string prediction_report(const std::vector<MeasuredRun>& runs,
                              const std::vector<std::optional<Prediction>>& predictions,
                              RunGroup group);

}  // namespace dfsearch
