#pragma once
// What a little more of one budget would bring.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "design/machine_answers.hpp"
#include "model/problem.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// What is known of the step with more of one budget.
enum class WhatIf : std::uint8_t {
  Known,
  NoChip,     ///< there is no such chip
  NoMapping,  ///< no mapping fits onto it
  Unknown,    ///< the limits came first
};

/// One part with more of one budget, all else as it is: what there is of the class grows with it,
/// so that no sum is exceeded; the die, its edge and what it leaves of the package stay.
struct BudgetGain {
  BudgetClass budget = BudgetClass::DieArea;
  std::optional<Component> part;  ///< none: the package, beside the die
  bool searched = false;          ///< `more` is a step of the grid; else a tenth of `has`
  double has = 0.0;               ///< mm2, W or mm
  double more = 0.0;              ///< the same
  WhatIf known = WhatIf::Unknown;
  Score objective = Score::infinity();  ///< with that much more, if Known
  /// (objective - that of the chip) / that of the chip; below 0: faster.  0 but for a rounding, for
  /// Known.
  double change = 0.0;
};

/// More of each budget that a part of the chip has something of, or that is searched, in the order
/// of the classes and parts, and of the package.  `objective` is that of the best mapping onto the
/// chip.  What the limits leave undone is Unknown.
std::vector<BudgetGain> budget_gains(const Problem& problem, const ChipDesign& design,
                                     const Chip& chip, Score objective, MachineAnswers& answers);

}  // namespace dfsearch
