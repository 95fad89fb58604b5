#pragma once
// The reason if budgets make no chip, or none onto which a mapping fits.

#include <string>
#include <vector>

#include "io/result/outcome.hpp"

namespace dfsearch {

/// The shortages of the parts of the chip; empty if there is a chip.
const std::vector<Shortage>& shortages_of(const Outcome& outcome);

/// A sentence or two; empty where the budgets are not the reason.
std::string budget_reason(const Outcome& outcome);

}  // namespace dfsearch
