#pragma once
// A step that was found once, as values for the config that asks for one.

#include <filesystem>
#include <string>
#include <vector>

namespace dfsearch {

/// The decisions of a result (docs/results.md), or of YAML with its keys `parallelism`,
/// `micro_batch`, `plan` and `execution`, as KEY=VALUE for a config with `training` or with
/// `equations: calculon`: the config with them asks for that step alone.  What the file leaves out
/// stays as the config has it.  Throws InputError for a file that has none of these keys.
std::vector<std::string> hint_changes(const std::filesystem::path& file);

}  // namespace dfsearch
