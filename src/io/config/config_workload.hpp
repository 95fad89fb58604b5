#pragma once
// The section `workload` of a config.

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/workload.hpp"
#include "io/config/config_graph.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {

/// Nothing if anything in the section is wrong.  `pins` receives the
/// `partition` keys of `kind: graph`.
std::optional<Workload> read_workload(const YamlEntry& section, std::vector<PartitionPin>& pins,
                                      InputMessages& messages);

/// Points of an FFT: the root is an extent.
inline constexpr std::int64_t kLongestFft = std::int64_t{1} << 60;

}  // namespace dfsearch
