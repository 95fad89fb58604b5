#pragma once
// The reason why nothing fits and changes that would help, in sentences.

#include <string>
#include <vector>

#include "engine/search_result.hpp"
#include "model/evaluate.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The reason why no mapping, or this mapping, fits: one or two sentences.
std::string infeasible_text(const Problem& problem, const Infeasible& reason);

/// Changes that each would make a mapping fit; empty for none.
std::string changes_text(const Problem& problem, const std::vector<FeasibleChange>& changes);

}  // namespace dfsearch
