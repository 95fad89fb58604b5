#pragma once
// DFModel's setups -> configs (docs/formats.md).

#include <string>

namespace dfsearch {

/// The config, as YAML text, that a setup of DFModel (protobuf text) stands for.
/// `name` stands for the file in messages.  Throws one InputError with
/// a message `file:line:column: field: ...` for each fault, and for each field that
/// no config can express.
std::string import_dfmodel(const std::string& text, const std::string& name);

}  // namespace dfsearch
