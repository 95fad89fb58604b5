#pragma once

#include "cli/options.hpp"

namespace dfsearch {

/// All placements of axes of parallelism on a mesh.
int run_mesh(const CommandLine& line);

}  // namespace dfsearch
