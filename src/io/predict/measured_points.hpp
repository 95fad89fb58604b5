#pragma once
// Measured deployments beside the front that was found for the same question.

#include <string>
#include <vector>

#include "io/predict/csv_table.hpp"
#include "model/serving/task.hpp"

namespace dfsearch {

/// What a deployment did.
struct MeasuredPoint {
  std::string name;
  double tokens_per_s_per_user = 0.0;
  double tokens_per_s_per_chip = 0.0;
  double dollars_per_mtoken = 0.0;  ///< with the price of the pool
};

/// Deployments of a table (docs/serving.md, section 8) with the model, the mean lengths, a
/// precision and the chips of the task.  Throws InputError for another table.
std::vector<MeasuredPoint> measured_points(const CsvTable& table, const serving::Task& task);

}  // namespace dfsearch
