#pragma once
// All keys of a config, section by section.

#include <string>

#include "schema/schema.hpp"

namespace dfsearch {

/// The sections of a config of a mapping.
struct ConfigText {};
const Schema& schema_of(Rows<ConfigText>);

/// The JSON Schema of configs, whatever they ask for: `dfsearch schema`.
std::string config_schema();

}  // namespace dfsearch
