#pragma once
// The values of an axis of one key.

#include <vector>

#include "io/text/map_reader.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {

/// Of `values: [...]`, or of `from`, `to`, `steps` and `scale`: scalars as they would stand in a
/// config.  What is wrong is reported.
std::vector<YamlNode> read_axis_values(MapReader& reader, const Place& place,
                                       InputMessages& messages);

}  // namespace dfsearch
