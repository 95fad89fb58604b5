#pragma once
// The names that configs and results use for the enumerations of kernels and workloads.

#include "graph/kernel.hpp"
#include "graph/workload.hpp"

namespace dfsearch {

const char* name_of(Loop loop);
const char* name_of(KernelKind kind);
const char* name_of(Mode mode);
const char* name_of(Phase phase);
const char* name_of(Spread spread);
const char* name_of(CommunicationType type);
const char* name_of(NetworkUse use);
const char* name_of(WorkloadKind kind);

}  // namespace dfsearch
