#pragma once
// A tree as YAML text.

#include <string>

#include "io/text/yaml_tree.hpp"

namespace dfsearch {

/// Block style, two blanks a level; reads back to the same tree but for places.
std::string yaml_text(const YamlNode& root);

}  // namespace dfsearch
