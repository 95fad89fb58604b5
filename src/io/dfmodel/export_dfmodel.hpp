#pragma once
// Configs -> DFModel's setups (docs/formats.md).

#include <string>

#include "io/config/load_config.hpp"

namespace dfsearch {

/// A setup (protobuf text) that import_dfmodel reads back to the same problem.
/// Throws one InputError with everything that DFModel cannot express; `name`
/// stands for the config in messages.
std::string export_dfmodel(const Config& config, const std::string& name);

}  // namespace dfsearch
