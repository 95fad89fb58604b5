#pragma once
// What of a config goes with its machine, once an override names another one.

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

/// A machine in place of another one has as many chips, unless its file or an override says how
/// many: `system` has its files in it, `own` is the config before the override.
void keep_chips(const YamlNode& own, const std::filesystem::path& folder, YamlNode& system);

}  // namespace dfsearch
