#pragma once
// Deployment files -> Deployment: a result of a search, or YAML with its keys (docs/serving.md).

#include <filesystem>
#include <vector>

#include "engine/serving/find_deployment.hpp"

namespace dfsearch {

// Degrees that are left out are 1.  They throw one InputError with all that is wrong,
// `file:line:column: key: ...`.

/// The `best` of a result, all points of its `front`, or a map with the keys of a deployment; at
/// least one.
std::vector<serving::Deployment> load_deployments(const std::filesystem::path& file,
                                                  const serving::Task& task);
/// The `fleet` of a result, without figures.
std::vector<serving::FleetPart> load_fleet(const std::filesystem::path& file,
                                           const serving::Fleet& fleet);

}  // namespace dfsearch
