#pragma once
// Models that a config may name: the files of configs/workloads/ that hold the shape of a
// transformer, as text.

#include <optional>
#include <string_view>
#include <vector>

namespace dfsearch {

/// The keys of the workload as YAML, if there is such a model.
std::optional<std::string_view> shelf_model(std::string_view name);

/// The names of all of them, in alphabetical order.
std::vector<std::string_view> shelf_names();

}  // namespace dfsearch
