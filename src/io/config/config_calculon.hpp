#pragma once
// The sections of a config with `equations: calculon`.

#include <optional>

#include "engine/calculon/execution_space.hpp"
#include "io/config/search_settings.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {

/// A config of Calculon's model (docs/calculon.md).
struct CalculonConfig {
  calculon::Task task;
  SearchSettings search;
};

/// Reads a whole config whose `from:` files are in place; what is wrong goes into the messages.
CalculonConfig read_calculon_config(const YamlNode& root, const Place& start,
                                    InputMessages& messages);

/// The section `system`.
calculon::Machine read_calculon_machine(const YamlEntry& section, InputMessages& messages);

/// The section `calculon`, checked by itself and against the other two.
calculon::ExecutionChoices read_execution_choices(const YamlEntry& section,
                                                  const calculon::Transformer& transformer,
                                                  const calculon::Machine& machine,
                                                  InputMessages& messages);

}  // namespace dfsearch
