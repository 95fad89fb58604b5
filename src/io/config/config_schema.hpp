#pragma once
// All keys of a config, section by section.

#include <string>

#include "schema/schema.hpp"

namespace dfsearch {

/// The sections of a config of a mapping.
struct MappingRoot {};
const Schema& schema_of(Rows<MappingRoot>);

/// The JSON Schema of configs, whatever they ask for: `dfsearch schema`.
std::string config_schema();

}  // namespace dfsearch
