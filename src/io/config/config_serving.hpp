#pragma once
// A config of kind llm_serving: a deployment of a language model (docs/serving.md).

#include "io/config/load_config.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {

/// Whether the workload of a config is of this kind, or it has a section `serving`.
bool is_serving_config(const YamlNode& root);

/// Reads all sections; `start` is where the config begins.
ServingConfig read_serving_config(const YamlNode& root, const Place& start,
                                  InputMessages& messages);

}  // namespace dfsearch
