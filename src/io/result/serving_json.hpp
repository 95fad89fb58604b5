#pragma once
// A deployment as JSON (docs/results.md).

#include <string>

#include "engine/serving/find_deployment.hpp"

namespace dfsearch {

/// The whole result, with a newline at its end; `fleet` without models: of the task alone.
std::string serving_json(const serving::Task& task, const serving::Fleet& fleet,
                         const serving::ServingResult& result);

}  // namespace dfsearch
