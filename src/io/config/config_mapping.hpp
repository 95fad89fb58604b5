#pragma once
// A config of a mapping: a graph on a machine, with its execution (docs/formats.md).

#include "io/config/config_system.hpp"
#include "io/config/load_config.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {

/// Reads all sections and checks what involves several of them; `start` is where the config begins.
Config read_mapping_config(const YamlNode& root, const Place& start, SystemUse use,
                           InputMessages& messages);

/// Reads the section `system`; all other sections of a mapping are left unread.
Config read_machine_alone(const YamlNode& root, const Place& start, InputMessages& messages);

}  // namespace dfsearch
