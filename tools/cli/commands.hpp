#pragma once
// What the commands do.

#include "cli/options.hpp"

namespace dfsearch {

/// The exit statuses of the program.
enum ExitStatus : int {
  kProved = 0,
  kInternalError = 1,
  kInputError = 2,
  kInfeasible = 3,
  kStoppedWithMapping = 4,
  kStoppedWithout = 5,
};

/// Runs the command and returns the exit status.  Throws InputError for input
/// that is wrong and for files that cannot be written.
int run(const CommandLine& line);

}  // namespace dfsearch
