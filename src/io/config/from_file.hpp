#pragma once
// The files that a section of a config names, merged with the section on top.

#include <filesystem>
#include <optional>
#include <vector>

#include "io/config/shelf.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {

/// The files whose `from:` led, one after the other, to the current file.
struct FileChain {
  std::vector<std::filesystem::path> open;
  bool keeps_shelf = false;  ///< a `from:` that names a file of the shelf stays
};

/// Replaces a map with a `from:` by the file that it names with the map on top.  The file may have
/// a `from:` of its own, relative to itself.
void resolve_from(YamlNode& section, const std::filesystem::path& directory,
                  std::optional<ShelfKind> kind, FileChain& chain, InputMessages& messages);

/// Replaces a workload with a `model:` by the model of the shelf with the map on top.
void resolve_model(YamlNode& section, InputMessages& messages);

/// The folder of the file with the entry; for an override the folder of the config.
std::filesystem::path folder_of(const YamlEntry& entry, const std::filesystem::path& config_folder);

/// Resolves the maps of a system that may come from files: its technology, each part of that, and
/// the budget.  Paths are relative to the file with the name.
void resolve_technology(YamlNode& system, const std::filesystem::path& directory, FileChain& chain,
                        InputMessages& messages);

}  // namespace dfsearch
