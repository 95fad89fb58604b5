#pragma once
// Derived chips for people, one or many side by side, and the machine of one as a config
// (docs/technology.md, section 5).

#include <string>
#include <vector>

#include "io/report/sheet.hpp"
#include "model/machine/machine.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// The parts of the chip as a table: the share of each in the budgets, the result and the limit
/// that holds it; then the budgets as bars.  Ends in a newline.
Sheet chip_table(const ChipDesign& design, const Chip& chip, const Machine& system);

/// The reason why there is no such chip: the part, the budget, and the amount missing.
std::string shortage_text(const Shortage& shortage);

/// One line for each reason why there is no such chip: the budget, and the amount missing.
Sheet shortage_lines(const Chip& chip);

/// The machine as the section `system` of a config, with its numbers written so that they
/// read back to the same, and the utilization of its cores as `execution`.
std::string system_yaml(const ChipDesign& design, const Chip& chip, const Machine& system);

/// One row of the list; its pointees must outlive it.
struct ListedChip {
  std::string name;
  const Chip* chip = nullptr;
  const Machine* system = nullptr;  ///< with the chip
};

/// A table with a row for each chip: its numbers and its limits, as letters that the last line
/// explains.  A chip that cannot be built has a row without numbers, and below the table a line for
/// each reason.  Ends in a newline.
std::string chip_list(const std::vector<ListedChip>& chips);

}  // namespace dfsearch
