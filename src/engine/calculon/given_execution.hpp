#pragma once
// Judgement of a given execution: whether a task leaves it to choose from.

#include "engine/calculon/execution_space.hpp"
#include "model/ruled_out.hpp"

namespace dfsearch::calculon {

/// The decisions that the choices of the task do not allow.
RuledOut ruled_out(const Task& task, const Execution& execution);

/// True if the search may find the execution.
bool is_searched(const Task& task, const Execution& execution);

}  // namespace dfsearch::calculon
