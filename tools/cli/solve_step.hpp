#pragma once
// Searches for whole steps: plans of training and Calculon's executions.

#include "cli/options.hpp"
#include "cli/signals.hpp"
#include "io/config/load_config.hpp"

namespace dfsearch {

/// Runs the search and returns the exit status.  Throws InputError for options that are not for
/// this kind of config, and for files that cannot be read or written.
int run_solve_step(const CommandLine& line, const CalculonConfig& config, StartLimit& start);
int run_solve_step(const CommandLine& line, const TrainingConfig& config, StartLimit& start);

}  // namespace dfsearch
