#pragma once
// Whose checkpoint it is, by the text of a config.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/text/yaml_tree.hpp"

namespace dfsearch {

/// One number for each section of a config whose files are in it, made from keys and values as they
/// are written; the order of keys makes no difference, and `search`, which has limits alone, is no
/// part of it.  Configs with different numbers may still ask the same: `1 s` and `1000 ms`.
std::vector<std::pair<std::string, std::uint64_t>> fingerprint_of(const YamlNode& config);

}  // namespace dfsearch
