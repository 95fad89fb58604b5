#pragma once
// A config with a section `training`: the step of a whole model and its memory
// (docs/training.md).

#include "engine/calculon/execution_space.hpp"
#include "io/config/load_config.hpp"
#include "io/text/map_reader.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

/// Reads all sections; `start` is where the config begins.
TrainingConfig read_training_config(YamlNode root, const Place& start, InputMessages& messages);

/// Whether the workload of a config is of this kind, or it has a section `serving`.
bool is_serving_config(const YamlNode& root);

/// Reads all sections; `start` is where the config begins.
ServingConfig read_serving_config(const YamlNode& root, const Place& start,
                                  InputMessages& messages);

/// If stages divide the graph, replaces it by the graph of the whole model: all layers, named L1.A
/// and so on if there are several, without the seam behind the last one.  Reports features that
/// such stages do not support.  The rest of the config is read already, and the messages contain
/// its mistakes.
void resolve_defaults_of_stages(const YamlNode& root, Config& config, InputMessages& messages);

const Schema& schema_of(Rows<calculon::ModelShape>);
const Schema& schema_of(Rows<calculon::ExecutionChoices>);

/// Reads a whole config whose `from:` files are in place; what is wrong goes into the messages.
CalculonConfig read_calculon_config(const YamlNode& root, const Place& start,
                                    InputMessages& messages);

Machine read_calculon_machine(const YamlEntry& section, InputMessages& messages);

/// The section `calculon`, checked by itself and, if they are right, against the other two.
calculon::ExecutionChoices read_execution_choices(const YamlEntry& section,
                                                  const calculon::ModelShape& transformer,
                                                  const Machine& machine, bool others_are_right,
                                                  InputMessages& messages);

}  // namespace dfsearch
