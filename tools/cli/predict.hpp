#pragma once
// The command that predicts a table of training runs.

#include "cli/options.hpp"

namespace dfsearch {

int run_predict(const CommandLine& line);

}  // namespace dfsearch
