#pragma once
// Rules between the sections of a config with `training`.

#include "io/text/input_messages.hpp"
#include "io/text/yaml_tree.hpp"
#include "model/training/task.hpp"

namespace dfsearch {

/// Refuses values that no plan has, whatever else is decided.  The sections have been read into the
/// task.
void check_plan_rules(const YamlNode& root, const training::Task& task, InputMessages& messages);

}  // namespace dfsearch
