#pragma once
// A derived chip for people, and the machine it is in as a config (docs/technology.md,
// section 5).

#include <string>

#include "io/report/sheet.hpp"
#include "model/machine/machine.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// The parts of the chip as a table: the share of each in the budgets, the result and the limit
/// that holds it; then the budgets as bars.  Ends in a newline.
Sheet chip_table(const ChipDesign& design, const Chip& chip, const Machine& system);

/// Why there is no such chip: which part, which budget, and by how much.
std::string shortage_text(const Shortage& shortage);

/// One line for each reason why there is no such chip: which budget, and by how much.
Sheet shortage_lines(const Chip& chip);

/// The machine as the section `system` of a config, with its numbers written so that they
/// read back to the same, and the utilization of its cores as `execution`.
std::string system_yaml(const ChipDesign& design, const Chip& chip, const Machine& system);

}  // namespace dfsearch
