#pragma once
// The header of the library: a config is loaded, solved, and its mapping costed again.
//
//     const dfsearch::Config config = dfsearch::load_config("config.yaml", {});
//     const dfsearch::SearchResult result = dfsearch::solve(config.problem, {});
//
// Installed it is <dfsearch/dfsearch.hpp>; link dfsearch::io (tests/install).

#include "engine/solve.hpp"
#include "io/config/load_config.hpp"
#include "model/evaluate.hpp"
