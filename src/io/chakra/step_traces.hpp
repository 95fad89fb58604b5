#pragma once
// A plan of training as execution traces of MLCommons Chakra, which simulators of networks run.

#include <string>

#include "io/emit/emit_result.hpp"
#include "io/text/json_text.hpp"

namespace dfsearch {

/// The step of the plan of a result (docs/results.md): `.N.et` for each chip N, and `.json` with
/// the chips of each group of the traces.  `name` stands for the result in messages.  Throws
/// InputError for a plan whose step has no such traces.
void write_step_traces(const Json& result, const std::string& name, const TakeFile& take);

}  // namespace dfsearch
