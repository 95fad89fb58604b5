#pragma once
// A deployment as JSON (docs/results.md).

#include <string>
#include <vector>

#include "engine/serving/find_deployment.hpp"
#include "io/predict/measured_points.hpp"

namespace dfsearch {

/// The whole result, with a newline at its end; `fleet` without models: of the task alone.
std::string serving_json(const serving::Task& task, const serving::Fleet& fleet,
                         const std::vector<MeasuredPoint>& measured,
                         const serving::ServingResult& result);

}  // namespace dfsearch
