#pragma once
// The gain from a little more of one budget.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "design/machine_answers.hpp"
#include "model/problem.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// The outcome of a step with more of one budget.
enum class WhatIf : std::uint8_t {
  Known,
  NoChip,     ///< there is no such chip
  NoMapping,  ///< no mapping fits onto it
  Unknown,    ///< the limits came first
};

/// The gain of one part from more of one budget, all else unchanged: the sum of the class grows
/// with it, so that it is not exceeded; the die, its edge and the rest of the package stay.
struct BudgetGain {
  BudgetClass budget = BudgetClass::DieArea;
  std::optional<Component> part;  ///< none: the package, beside the die
  bool searched = false;          ///< `more` is a step of the grid; else a tenth of `has`
  double has = 0.0;               ///< mm2, W or mm
  double more = 0.0;              ///< the same
  WhatIf known = WhatIf::Unknown;
  Score objective = Score::infinity();  ///< with that much more, if Known
  /// (objective - objective of the chip) / objective of the chip; negative means faster.  Known
  /// gains are at most 0, except for rounding.
  double change = 0.0;
};

/// The gains from more of each budget that some part of the chip uses or that is searched, by class
/// and part, the package last.  `objective` is the objective of the best mapping onto the chip.
/// Gains that the limits leave undone are Unknown.
std::vector<BudgetGain> budget_gains(const Problem& problem, const ChipDesign& design,
                                     const Chip& chip, Score objective, MachineAnswers& answers);

}  // namespace dfsearch
