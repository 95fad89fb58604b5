#pragma once
// Deployment files -> Deployment: a result of a search, or YAML with its keys (docs/serving.md).

#include <filesystem>

#include "model/serving/deployment.hpp"

namespace dfsearch {

/// The `best` of a result, or a map with the keys of a deployment.  Degrees that are left out are
/// 1.  Throws one InputError with all that is wrong, `file:line:column: key: ...`.
serving::Deployment load_deployment(const std::filesystem::path& file, const serving::Task& task);

}  // namespace dfsearch
