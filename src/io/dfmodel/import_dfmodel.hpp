#pragma once
// DFModel's setups -> configs (docs/formats.md).

#include <string>

namespace dfsearch {

/// The config, as YAML text, that a setup of DFModel (protobuf text) stands for.
/// `name` stands for the file in messages.  Throws one InputError with all that
/// is wrong or cannot be expressed, a `file:line:column: field: ...` each.
std::string import_dfmodel(const std::string& text, const std::string& name);

}  // namespace dfsearch
