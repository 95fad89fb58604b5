#pragma once
// Many chips side by side, for people (docs/technology.md, section 5).

#include <string>
#include <vector>

#include "model/machine/machine.hpp"
#include "technology/chip.hpp"

namespace dfsearch {

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
