#pragma once
// The header of the library: a config of any kind is loaded, solved, and the answer written.
//
//     const dfsearch::AnyConfig config = dfsearch::load_any_config("config.yaml", {});
//     const dfsearch::Result result = dfsearch::solve(config, {.threads = 8});
//     std::cout << dfsearch::result_json(config, result);
//
// The parts of a mapping are at hand, too: load_config gives a Problem, `solve` its best mapping,
// and `evaluate` costs a mapping again.
//
// Installed it is <dfsearch/dfsearch.hpp>; link dfsearch::io (tests/install).

#include "engine/solve.hpp"
#include "io/config/load_config.hpp"
#include "io/solve/question.hpp"
#include "model/evaluate.hpp"
