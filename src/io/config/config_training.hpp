#pragma once
// A config with a section `training`: the step of a whole model and its memory
// (docs/training.md).

#include "io/config/load_config.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {

/// Reads all sections; `start` is where the config begins.
TrainingConfig read_training_config(YamlNode root, const Place& start, InputMessages& messages);

}  // namespace dfsearch
