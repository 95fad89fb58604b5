#pragma once
// The searches that find no mapping: for executions of Calculon's model, and for plans of
// training steps.

#include "cli/options.hpp"
#include "cli/signals.hpp"
#include "io/config/load_config.hpp"

namespace dfsearch {

/// The command `solve` for such a config; returns the exit status.  Throws InputError
/// for options that it does not have.
int run_solve_execution(const CommandLine& line, const CalculonConfig& config, StartLimit& start);

/// The same for a config with a section `training`.
int run_solve_plan(const CommandLine& line, const TrainingConfig& config, StartLimit& start);

}  // namespace dfsearch
