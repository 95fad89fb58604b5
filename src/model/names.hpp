#pragma once
// The names that configs and results use for the enumerations of machines and costs.

#include "model/evaluate.hpp"
#include "model/machine/system.hpp"
#include "model/problem.hpp"
#include "model/step/time_shares.hpp"

namespace dfsearch {

const char* name_of(Topology topology);
const char* name_of(Strategy strategy);
const char* name_of(LevelName level);
const char* name_of(Objective objective);
const char* name_of(Resource resource);
const char* name_of(Bottleneck bottleneck);
const char* name_of(StepBound bound);

}  // namespace dfsearch
