#pragma once
// The budgets of a chip for people: who has how much of them (docs/technology.md, section 5).

#include <string>
#include <vector>

#include "design/what_if.hpp"
#include "io/report/sheet.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// Bars of area, power and edge, a row for each part of the technology and one for what is left.
/// Ends in a newline.
std::string budget_bars(const ChipDesign& design, const Chip& chip);

/// What a step or a tenth more of each budget would bring, as a table, and which budget binds most.
/// Empty without gains; else ends in a newline.
Sheet gains_text(const std::vector<BudgetGain>& gains);

/// The shares that were searched: "area core 0.6, L2 0.1; power core 0.5".
std::string split_text(const ChipDesign& design, const Chip& chip);

}  // namespace dfsearch
