#pragma once
// The budgets of a chip for people: who has how much of them (docs/technology.md, section 5).

#include <string>

#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// Bars of area, power and edge, a row for each part of the technology and one for what is left.
/// Ends in a newline.
std::string budget_bars(const ChipDesign& design, const Chip& chip);

}  // namespace dfsearch
