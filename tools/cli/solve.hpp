#pragma once
// The search and all that is written while it runs.

#include "cli/options.hpp"

namespace dfsearch {

/// The command `solve`; returns the exit status.
int run_solve(const CommandLine& line);

}  // namespace dfsearch
