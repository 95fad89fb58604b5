#pragma once
// Values with which the command line, or a point of a study, replaces values of a config:
// "system.network.0.degree=16".

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/text/input_messages.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {

struct Override {
  std::string text;                        ///< KEY=VALUE as it was given
  std::vector<std::string> path;           ///< the components of KEY
  YamlNode value;                          ///< VALUE, read as YAML; Null removes the key
  std::optional<Place> at = std::nullopt;  ///< its place, if it is in a file

  /// The place in messages: a line of the file, or `--set KEY=VALUE`.
  [[nodiscard]] Place place() const;
};

/// The components of a key like system.network.0.degree; none for other texts.
std::vector<std::string> components_of(std::string_view key);

/// Parses overrides; wrong ones are reported and left out.
std::vector<Override> parse_overrides(const std::vector<std::string>& texts,
                                      InputMessages& messages);

/// Puts the value at its path.  Missing maps are created, and the check for unknown keys covers
/// them later; an index must exist already.  `*` means all indices of a list.
void apply_override(const Override& override_value, YamlNode& root, InputMessages& messages);

/// Measured rates hold only for their chips.  If an override replaces the machine, reports rates of
/// the old chips that no override replaces, in `execution` and in the pools of a deployment.  `own`
/// and `root` are the trees before and after the changes that choose files; files are not merged
/// yet.  The config is in `folder`.
void check_replaced_machines(const YamlNode& own, const YamlNode& root,
                             const std::filesystem::path& folder,
                             const std::vector<Override>& changes, InputMessages& messages);

/// Gives `system`, whose files are merged, the number of chips of the machine that it replaces,
/// unless its own file has a number.  `own` is the config before the override.
void keep_chips(const YamlNode& own, const std::filesystem::path& folder, YamlNode& system);

}  // namespace dfsearch
