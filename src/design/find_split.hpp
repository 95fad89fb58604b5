#pragma once
// The search for the split of the budgets, with the mapping onto its chip, of least step time, and
// the gains from a little more of one budget.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "design/machine_answers.hpp"
#include "design/split_space.hpp"
#include "engine/search_options.hpp"
#include "engine/search_result.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// Outcome of the search with a little more of one budget.
enum class WhatIf : std::uint8_t {
  Known,
  NoChip,     ///< there is no such chip
  NoMapping,  ///< no mapping fits onto it
  Unknown,    ///< a limit ended the search
};

/// The gain of one part from more of one budget, all else unchanged: the budget of the class grows
/// by the same amount; the die, its edge and the rest of the package stay.
struct BudgetGain {
  BudgetClass budget = BudgetClass::DieArea;
  std::optional<Component> part;  ///< none: the package, beside the die
  bool searched = false;          ///< `more` is a step of the grid; else a tenth of `has`
  double has = 0.0;               ///< mm2, W or mm
  double more = 0.0;              ///< the increase, in the same unit
  WhatIf known = WhatIf::Unknown;
  Score objective = Score::infinity();  ///< with `more`, if Known
  /// (objective - objective of the chip) / objective of the chip; negative means faster.  Known
  /// gains are at most 0, except for rounding.
  double change = 0.0;
};

/// The gains from more of each budget that some part of the chip uses or that is searched, by class
/// and part, the package last.  `objective` is the objective of the best mapping onto the chip.
/// Gains that a limit prevented are Unknown.
std::vector<BudgetGain> budget_gains(const Problem& problem, const ChipDesign& design,
                                     const Chip& chip, Score objective, MachineAnswers& answers);

struct DesignOptions {
  /// Limits and threads hold for the whole search; nodes are boxes.  `top` is the number of splits.
  /// The hint is tried on every chip.  Of its listeners only `on_progress` is called.
  SearchOptions search;
  /// Called at every better split, with its chip and the best mapping onto it, from any thread,
  /// never together with `on_progress` or itself.
  std::function<void(const Progress&, const Mapping&, const Chip&)> on_split = nullptr;
  /// Called by the thread of `find_split`, now and then and at the end.
  std::function<void(const SplitState&)> on_checkpoint = nullptr;
  /// The search continues from this state; nothing: it begins anew.
  std::optional<SplitState> resume = std::nullopt;
  bool find_gains = false;  ///< report the gains from more of each budget
};

/// A split and the proof that it is the best, except for those before it.
struct FoundSplit {
  SearchStatus status = SearchStatus::NoSolution;
  StopReason stopped_by = StopReason::None;
  std::optional<Chip> chip;  ///< with its shares; nothing: none was found
  Score objective = Score::infinity();
  Score lower_bound{};
};

/// Result of a search over budgets, or of the evaluation of a given split.
struct DesignResult {
  bool is_given = false;  ///< nothing was searched
  SearchStatus status = SearchStatus::NoSolution;
  StopReason stopped_by = StopReason::None;
  std::optional<Chip> chip;  ///< of the best split, whose shares it has
  Problem problem;           ///< the problem with that chip
  /// The search for the best mapping onto this chip.  Its lower bound and gap are over all splits;
  /// its times and memory are of the whole search.
  SearchResult search;
  Score lower_bound{};            ///< of all splits and mappings
  std::vector<FoundSplit> best;   ///< best first; `top` of them if there are
  std::vector<BudgetGain> gains;  ///< if requested and there is a split
  /// For Infeasible: the shortages of the chip whose parts have their greatest shares.  If this
  /// chip can be built, `search` has the reason why nothing fits onto it; if something fits, there
  /// is no reason.
  std::vector<Shortage> shortages;
  double splits = 0.0;        ///< number of splits that keep the sums of the budgets
  std::int64_t boxes = 0;     ///< number of boxes that were halved
  std::int64_t machines = 0;  ///< number of machines whose best mapping was searched
};

/// Tries all splits of the shares that the design leaves open, by branch and bound; of equal
/// answers the first in the order of SplitSpace.  Needs Objective::StepTime.  Throws InputError for
/// a state of another problem; an exception of a listener is in the result
/// (SearchResult::callback_error).
DesignResult find_split(const Problem& problem, const ChipDesign& design,
                        const DesignOptions& options);

}  // namespace dfsearch
