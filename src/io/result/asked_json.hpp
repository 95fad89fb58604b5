#pragma once
// The workload, the machine and the graph of a layer as results repeat them, so that a result can
// be read without its config (docs/results.md); the files of the shelf.  In SI base units.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/calculon/execution_space.hpp"
#include "graph/workload.hpp"
#include "io/config/shelf.hpp"
#include "io/result/answer_rows.hpp"
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

/// Null if a search over budgets found no chip.  Unlimited capacities are null, and so is the SRAM
/// of a machine without any.
Json asked_machine_json(const Machine& machine);

/// The SRAM of a chip; nothing for a machine without SRAM.
std::optional<Bytes> sram_of(const Machine& machine);
/// The name of the topology; nothing for a measured network.
std::optional<std::string_view> topology_of(const NetworkDimension& dimension);
inline const MemoryTier& first_memory(const Machine& machine) { return machine.memory[0]; }

template <>
inline constexpr auto kKeys<MemoryTier> = join(DFSEARCH_KEYS(MemoryTier, bandwidth, capacity),
                                               key<MemoryTier, &MemoryTier::latency>("latency",
                                                                                     true));
template <>
inline constexpr auto kKeys<NetworkDimension> =
    join(key<NetworkDimension, &topology_of>("topology"),
         DFSEARCH_KEYS(NetworkDimension, degree, bandwidth, latency));
inline constexpr auto kMachineKeys =
    join(DFSEARCH_KEYS(Machine, chips, peak), key<Machine, &sram_of>("sram"),
         key<Machine, &first_memory>("memory"), DFSEARCH_KEYS(Machine, second_memory, network));

/// Kernels and tensors of a layer, for one sample.
Json asked_graph_json(const Workload& workload);

/// The files of the shelf: an object with a list for each of the kinds, which may be systems,
/// workloads and studies; null for values that a file leaves to the config.
std::string shelf_json(std::span<const ShelfKind> kinds);

}  // namespace dfsearch
