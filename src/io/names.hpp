#pragma once
// The names that configs and results use for the values of enumerations; those
// of Resource and Bound are in model/evaluate.hpp.

#include "engine/limits.hpp"
#include "engine/solve.hpp"
#include "graph/kernel.hpp"
#include "graph/workload.hpp"
#include "model/problem.hpp"
#include "model/system.hpp"

namespace dfsearch {

const char* name_of(Loop loop);
const char* name_of(KernelKind kind);
const char* name_of(Mode mode);
const char* name_of(Phase phase);
const char* name_of(Spread spread);
const char* name_of(CommunicationType type);
const char* name_of(NetworkUse use);
const char* name_of(Topology topology);
const char* name_of(Strategy strategy);
const char* name_of(Objective objective);
const char* name_of(SearchStatus status);
const char* name_of(StopReason reason);  ///< empty for StopReason::None

}  // namespace dfsearch
