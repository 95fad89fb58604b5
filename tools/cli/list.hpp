#pragma once
// `dfsearch list`: what is on the shelf.

#include "cli/options.hpp"

namespace dfsearch {

/// Prints the list and returns the exit status.
int run_list(const CommandLine& line);

}  // namespace dfsearch
