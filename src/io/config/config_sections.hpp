#pragma once
// The readers of the sections of a config, one per top-level key.  Each checks
// its own section; what involves several is checked in load_config.cpp.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "io/config/load_config.hpp"
#include "io/text/map_reader.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// A kernel that a config puts into a partition, whichever key said so.
struct PartitionPin {
  KernelId kernel;
  std::int64_t partition = 0;
  Place place;
};

/// Nothing if anything in the section is wrong.  `pins` receives the
/// `partition` keys of `kind: graph`.
std::optional<Workload> read_workload(const YamlEntry& section, std::vector<PartitionPin>& pins,
                                      InputMessages& messages);

/// `kind: graph`: reads kernels and tensors into `workload.graph`, which must
/// hold everything else; `has_sequence` decides the default of `tiled`.
void read_graph(MapReader& section, bool has_sequence, Workload& workload,
                std::vector<PartitionPin>& pins);

/// Iterations of a kernel for one sample, as a double since it may be huge.
double iterations(const Kernel& kernel);
/// More would leave 64-bit integers: 2^62.
inline constexpr double kMostIterations = 4611686018427387904.0;
/// Points of an FFT: the root is an extent.
inline constexpr std::int64_t kLongestFft = std::int64_t{1} << 60;

/// The degrees are checked if the copies of the workload are known.
std::optional<System> read_system(const YamlEntry& section, std::optional<std::int64_t> copies,
                                  InputMessages& messages);
void read_price(const YamlEntry& section, System& system, InputMessages& messages);
void read_power(const YamlEntry& section, System& system, InputMessages& messages);

/// `parallelism: {tensor: 8, pipeline: [64, 128], data: ..4}`.
std::array<DegreeChoice, 3> read_parallelism(const YamlEntry& section, InputMessages& messages);

/// Everything but the pins, which need the graph.
Execution read_execution(const YamlEntry& section, InputMessages& messages);
/// `execution: {pins: ...}`; reports kernels that `graph` does not have.
std::vector<PartitionPin> read_partition_pins(const YamlEntry& section, const DataflowGraph& graph,
                                              InputMessages& messages);
/// `sharding: {pins: ...}`; without a graph only the form is checked.
std::vector<std::optional<Loop>> read_sharding(const YamlEntry& section, const DataflowGraph* graph,
                                               InputMessages& messages);
Equations read_equations(const YamlEntry& section, InputMessages& messages);
/// What it says of the problem itself goes to `problem`.
SearchSettings read_search(const YamlEntry& section, Problem& problem, InputMessages& messages);

}  // namespace dfsearch
