#pragma once
// Values that the command line, or a point of a study, puts in place of values of a config:
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
  YamlNode value;                          ///< VALUE, read as YAML; Null takes the key away
  std::optional<Place> at = std::nullopt;  ///< where a file says it

  /// The place in messages: a line of the file, or `--set KEY=VALUE`.
  [[nodiscard]] Place place() const;
};

/// The components of a key like system.network.0.degree; none if it is no such key.
std::vector<std::string> components_of(std::string_view key);

/// Wrong ones are reported and left out.
std::vector<Override> parse_overrides(const std::vector<std::string>& texts,
                                      InputMessages& messages);

/// Puts the value at its path.  Maps on the way are created, since the check for
/// unknown keys looks at them later; an index must exist already.  `*` stands for all indices of a
/// list.
void apply_override(const Override& override_value, YamlNode& root, InputMessages& messages);

/// Rates that were measured on the chips of a config hold for no others: messages about those that
/// the config has and none of the changes replaces, in `execution` and in the pools of a
/// deployment. Trees without their files, `root` with the changes that choose files and `own`
/// without; the config is in `folder`.
void check_replaced_machines(const YamlNode& own, const YamlNode& root,
                             const std::filesystem::path& folder,
                             const std::vector<Override>& changes, InputMessages& messages);

/// Gives `system`, whose files are in it, the number of chips of the machine that it replaces,
/// unless its own file has a number.  `own` is the config before the override.
void keep_chips(const YamlNode& own, const std::filesystem::path& folder, YamlNode& system);

}  // namespace dfsearch
