#pragma once
// The parts of a config that belong to its machine, once an override names another machine.

#include <filesystem>
#include <vector>

#include "io/config/overrides.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {

/// Rates that were measured on the chips of a config hold for no others: messages about those that
/// the config has and none of the changes replaces, in `execution` and in the pools of a deployment.
/// Trees without their files, `root` with the changes that choose files and `own` without; the
/// config is in `folder`.
void check_replaced_machines(const YamlNode& own, const YamlNode& root,
                             const std::filesystem::path& folder,
                             const std::vector<Override>& changes, InputMessages& messages);

/// Gives `system`, whose files are in it, the number of chips of the machine that it replaces, unless
/// its own file has a number.  `own` is the config before the override.
void keep_chips(const YamlNode& own, const std::filesystem::path& folder, YamlNode& system);

}  // namespace dfsearch
