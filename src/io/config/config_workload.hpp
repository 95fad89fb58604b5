#pragma once
// The section `workload` of a config.

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/workload.hpp"
#include "io/text/yaml_tree.hpp"

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

/// Reports tensors whose shapes cannot agree with what their kernels read; `section` is the workload
/// that the graph was read from.
void check_shapes(const YamlNode& section, const DataflowGraph& graph, InputMessages& messages);

}  // namespace dfsearch
