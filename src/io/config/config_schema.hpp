#pragma once
// All keys of a config, section by section.

#include <string>

#include "schema/schema.hpp"

namespace dfsearch {

/// The sections of a config of a mapping.
struct MappingRoot {};
const Schema& schema_of(Rows<MappingRoot>);

/// The JSON Schema of configs of all kinds: `dfsearch schema`.  `closed_form` is the type of a
/// config with a section of load_config.hpp, whose keys are options of commands.
std::string config_schema(const Type& closed_form);

}  // namespace dfsearch
