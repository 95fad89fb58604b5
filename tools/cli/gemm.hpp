#pragma once
// The command that times GEMMs alone on a chip.

#include "cli/options.hpp"

namespace dfsearch {

int run_gemm(const CommandLine& line);

}  // namespace dfsearch
