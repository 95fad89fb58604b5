#pragma once
// `dfsearch serve`: the results of a folder for a browser.

#include "cli/options.hpp"

namespace dfsearch {

int run_serve(const CommandLine& line);

}  // namespace dfsearch
