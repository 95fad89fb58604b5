#pragma once
// The results of every kind of question as JSON (docs/results.md; of executions docs/calculon.md,
// section 2).

#include <string>
#include <vector>

#include "engine/calculon/find_execution.hpp"
#include "engine/serving/find_deployment.hpp"
#include "engine/training/find_plan.hpp"
#include "io/predict/measured_points.hpp"
#include "io/result/outcome.hpp"

namespace dfsearch {

// One object in SI base units that always has every key; null where there is no value.  All that
// depends on time or threads is in its "search".  All end in a newline.

/// The text is a mapping file as well (io/result/mapping_file.hpp).
std::string result_json(const Outcome& outcome);
std::string result_json(const training::Task& task, const training::PlanResult& result);
std::string result_json(const calculon::Task& task, const calculon::ExecutionResult& result);
/// `fleet` without models: of the task alone.
std::string result_json(const serving::Task& task, const serving::Fleet& fleet,
                        const std::vector<MeasuredPoint>& measured,
                        const serving::ServingResult& result);

}  // namespace dfsearch
