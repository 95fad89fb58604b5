#pragma once
// The part of the section `workload` that is `kind: graph`: kernels and tensors by name.

#include <cstdint>
#include <vector>

#include "graph/workload.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {

/// A kernel that a config puts into a partition, whichever key said so.
struct PartitionPin {
  KernelId kernel;
  std::int64_t partition = 0;
  Place place;
};

/// Reads kernels and tensors into `workload.graph`; `workload` must hold everything
/// else.  `has_sequence` decides the default of `tiled`; `pins` receives the `partition`
/// keys.
void read_graph(MapReader& section, bool has_sequence, Workload& workload,
                std::vector<PartitionPin>& pins);

/// Reports tensors whose shapes cannot agree with what their kernels read; `section` is the workload
/// that the graph was read from.
void check_shapes(const YamlNode& section, const DataflowGraph& graph, InputMessages& messages);

}  // namespace dfsearch
