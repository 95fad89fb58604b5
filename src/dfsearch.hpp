#pragma once
// The header of the library: a config is loaded, solved, and its mapping costed again.
//
//     const dfsearch::Config config = dfsearch::load_config("config.yaml", {});
//     const dfsearch::SearchResult result = dfsearch::solve(config.problem, {});
//
// A config of Calculon's model comes from load_any_config and goes to calculon::find_execution, one
// of training steps to training::find_plan.
//
// Installed it is <dfsearch/dfsearch.hpp>; link dfsearch::io (tests/install).

#include "engine/calculon/find_execution.hpp"
#include "engine/solve.hpp"
#include "engine/training/find_plan.hpp"
#include "io/config/load_config.hpp"
#include "model/evaluate.hpp"
