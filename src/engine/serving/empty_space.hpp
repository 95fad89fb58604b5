#pragma once
// Why the choices of a task leave no deployment.

#include <string>

#include "model/serving/task.hpp"

namespace dfsearch::serving {

/// Some rules that the choices break, each with its key and its numbers.  The space of the task has
/// no deployment.
std::string why_empty(const Task& task);

}  // namespace dfsearch::serving
