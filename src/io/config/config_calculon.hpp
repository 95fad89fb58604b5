#pragma once
// The sections of a config with `equations: calculon`.

#include "engine/calculon/execution_space.hpp"
#include "io/config/load_config.hpp"
#include "io/text/map_reader.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

const Schema& schema_of(Rows<calculon::ModelShape>);
const Schema& schema_of(Rows<calculon::ExecutionChoices>);

/// Reads a whole config whose `from:` files are in place; what is wrong goes into the messages.
CalculonConfig read_calculon_config(const YamlNode& root, const Place& start,
                                    InputMessages& messages);

/// The section `system`.
Machine read_calculon_machine(const YamlEntry& section, InputMessages& messages);

/// The section `calculon`, checked by itself and, if they are right, against the other two.
calculon::ExecutionChoices read_execution_choices(const YamlEntry& section,
                                                  const calculon::ModelShape& transformer,
                                                  const Machine& machine, bool others_are_right,
                                                  InputMessages& messages);

}  // namespace dfsearch
