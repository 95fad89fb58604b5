#pragma once
// The JSON files of Calculon, its models and its systems, as parts of configs.

#include <string>
#include <string_view>

namespace dfsearch {

/// Whether the text, which is a map, is a file of Calculon.
bool is_calculon_file(std::string_view text);

/// The sections `workload` or `system` of a config with `equations: calculon`, in YAML.  `name` is
/// the file.  Throws InputError.
std::string import_calculon(const std::string& text, const std::string& name);

}  // namespace dfsearch
