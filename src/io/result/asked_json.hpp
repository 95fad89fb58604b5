#pragma once
// What was asked, as results repeat it, so that they can be read without their config: the
// workload, the machine and the graph of a layer (docs/results.md).  In SI base units.

#include "engine/calculon/execution_space.hpp"
#include "graph/workload.hpp"
#include "io/text/json_text.hpp"
#include "model/machine/machine.hpp"
#include "model/serving/task.hpp"
#include "model/training/task.hpp"

namespace dfsearch {

Json asked_workload_json(const Workload& workload);
Json asked_workload_json(const calculon::Task& task);
Json asked_workload_json(const training::Task& task);
Json asked_workload_json(const serving::Task& task);
Json asked_pools_json(const serving::Task& task);  ///< `peak` of linear layers, for each chip
Json asked_limits_json(const serving::Limits& limits);

/// Null where a search over budgets found no chip; unlimited capacities are null, as is the SRAM
/// of a machine that has none.
Json asked_machine_json(const Machine& machine);

// Parts of it.
Json tier_json(const MemoryTier& tier);
Json network_json(const Machine& machine);
Json sram_json(const Machine& machine);

/// Kernels and tensors of a layer, for one sample.
Json asked_graph_json(const Workload& workload);

}  // namespace dfsearch
