#pragma once
// Why nothing fits, and what would help, in sentences.

#include <string>
#include <vector>

#include "engine/search_result.hpp"
#include "model/evaluate.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Why no mapping, or this mapping, fits: one or two sentences.
std::string infeasible_text(const Problem& problem, const Infeasible& reason);

/// What would make it fit, one of several; empty for none.
std::string changes_text(const Problem& problem, const std::vector<FeasibleChange>& changes);

}  // namespace dfsearch
