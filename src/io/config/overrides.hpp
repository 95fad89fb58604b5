#pragma once
// Values that the command line, or a point of a study, puts in place of those of a config:
// "system.network.0.degree=16".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/text/yaml_tree.hpp"

namespace dfsearch {

struct Override {
  std::string text;                        ///< KEY=VALUE as it was given
  std::vector<std::string> path;           ///< the components of KEY
  YamlNode value;                          ///< VALUE, read as YAML; Null takes the key away
  std::optional<Place> at = std::nullopt;  ///< where a file says it

  /// The place in messages: that of the file, or `--set KEY=VALUE`.
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

}  // namespace dfsearch
