#pragma once
// What the commands do.

#include "cli/exit_status.hpp"
#include "cli/options.hpp"

namespace dfsearch {

/// Runs the command and returns the exit status.  Throws InputError for input
/// that is wrong and for files that cannot be written.
int run(CommandLine line);

}  // namespace dfsearch
