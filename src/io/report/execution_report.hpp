#pragma once
// The report of a search for executions, for people.

#include <string>

#include "engine/calculon/find_execution.hpp"

namespace dfsearch {

/// What is asked: the transformer and the machine, for `check` and above a report.
std::string task_text(const calculon::Task& task);

/// Why no execution fits, in a phrase; empty where nothing is known of it.
std::string reason_text(const calculon::Task& task, const calculon::ExecutionResult& result);

/// Aligned text of at most 100 columns; `title` names the config.  Ends in a newline.
std::string execution_report(const calculon::Task& task, const calculon::ExecutionResult& result,
                             const std::string& title);

}  // namespace dfsearch
