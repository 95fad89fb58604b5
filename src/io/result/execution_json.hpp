#pragma once
// The result of a search for executions as JSON (docs/calculon.md, section 2).

#include <string>

#include "engine/calculon/find_execution.hpp"

namespace dfsearch {

/// With a newline at its end.
std::string execution_json(const calculon::Task& task, const calculon::ExecutionResult& result);

}  // namespace dfsearch
