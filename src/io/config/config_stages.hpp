#pragma once
// `execution: {stages: graph}`, which involves most sections of a config.

#include "io/config/load_config.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {

/// Where stages divide the graph, makes it that of the whole model: all layers, named L1.A and so on
/// if there are several, without what leads to a next one.  Reports what such stages do not take.
/// The config is read but for that, and the messages have what is wrong with it.
void settle_stages(const YamlNode& root, Config& config, InputMessages& messages);

}  // namespace dfsearch
