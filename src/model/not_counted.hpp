#pragma once
// What a step keeps in memory that the model of mappings does not count (docs/model.md,
// section 12).

#include <string_view>
#include <vector>

#include "model/problem.hpp"

namespace dfsearch {

/// In the words of reports and results; nothing where all counts.
std::vector<std::string_view> not_counted_in_memory(const Problem& problem);

}  // namespace dfsearch
