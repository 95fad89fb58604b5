#pragma once
// The reason why nothing fits and changes that would help, in sentences.

#include <string>
#include <vector>

#include "engine/search_result.hpp"
#include "io/result/outcome.hpp"
#include "model/evaluate.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The reason why no mapping, or this mapping, fits: one or two sentences.
std::string infeasible_text(const Problem& problem, const Infeasible& reason);

/// Changes that each would make a mapping fit; empty for none.
std::string changes_text(const Problem& problem, const std::vector<FeasibleChange>& changes);

/// The shortages of the parts of the chip; empty if there is a chip.
const std::vector<Shortage>& shortages_of(const Outcome& outcome);

/// Why budgets make no chip, or none onto which a mapping fits, in a sentence or two; empty where
/// they are not the reason.
std::string budget_reason(const Outcome& outcome);

}  // namespace dfsearch
