#pragma once
// The tree of a config with its files merged.

#include <filesystem>
#include <string>
#include <vector>

#include "io/config/overrides.hpp"
#include "io/config/shelf.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {

/// The text of a config, and the name of its source in messages.
struct SourceFile {
  std::string text, source;
};

/// Text of a file, or of a file of the shelf by its path in messages (shelf.hpp); a file of another
/// program is imported (foreign_file.hpp).  Throws InputError.
SourceFile read_config_text(const std::filesystem::path& file);
/// Reads a whole config; a model of the shelf becomes a config that trains this model.
SourceFile config_text(const std::filesystem::path& file);
/// Reads a whole config as a tree.
YamlNode load_config_tree(const std::filesystem::path& file);

/// Whether the override chooses a file: such overrides are applied before files are read, all
/// others afterwards.
bool chooses_file(const Override& change);

/// The changed tree with its files merged: `from:` files, of the shelf or by their paths, and the
/// `model:` of a workload; with `keeps_shelf`, files of the shelf stay names. `file` is the file of
/// the tree.  Throws InputError.
YamlNode tree_with_files(YamlNode root, const std::filesystem::path& file,
                         const std::vector<Override>& changes, InputMessages& messages,
                         bool keeps_shelf = false);

/// The tree of a changed config, valid in any folder.  Files of the shelf stay names, since
/// rules and cautions treat keys of the shelf and keys of a user differently.
YamlNode portable_tree(const YamlNode& root, const std::filesystem::path& file,
                       const std::vector<Override>& changes, InputMessages& messages);

void apply_changes(const std::vector<Override>& changes, YamlNode& root, InputMessages& messages);

/// The map of a file of the shelf, by its name, or of another file, by its path from `directory`,
/// merged onto the file that its own `from:` names.  Mistakes are reported at `place`.
YamlNode named_tree(const std::string& name, const std::filesystem::path& directory, ShelfKind kind,
                    const Place& place, InputMessages& messages);

/// A section, or the file whose name it is, merged onto the file that its `from:` names.
YamlNode with_files(YamlNode section, const std::filesystem::path& directory, ShelfKind kind,
                    InputMessages& messages);

YamlNode complete_tree(YamlNode root, const std::filesystem::path& file,
                       const std::vector<std::string>& overrides, InputMessages& messages);

}  // namespace dfsearch
