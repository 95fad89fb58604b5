#pragma once
// The search over what a budget leaves out.

#include "cli/options.hpp"
#include "cli/signals.hpp"
#include "io/config/load_config.hpp"

namespace dfsearch {

/// Searches, writes what was asked for and returns the exit status.  Throws InputError.
int run_solve_design(const CommandLine& line, const Config& config, StartLimit& start);

}  // namespace dfsearch
