#pragma once
// The split of the budgets, and the mapping onto its chip, with the least step time.

#include <cstdint>
#include <optional>

#include "engine/search_options.hpp"
#include "engine/search_result.hpp"
#include "model/problem.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// What a search over budgets found.
struct DesignResult {
  SearchStatus status = SearchStatus::NoSolution;
  StopReason stopped_by = StopReason::None;
  std::optional<Chip> chip;  ///< of the best split, whose shares it has
  Problem problem;           ///< with that chip
  /// The search for the best mapping onto it, whose lower bound and gap are those over all
  /// splits.
  SearchResult search;
  Score lower_bound{};        ///< of all splits and mappings
  double splits = 0.0;        ///< that keep the sums
  std::int64_t boxes = 0;     ///< of splits that were halved
  std::int64_t machines = 0;  ///< whose best mapping was searched
};

/// Tries all splits of the shares that the design leaves open, by branch and bound; of equal
/// answers the first in the order of SplitSpace.  The limits of `options` count for all of it.
/// Needs Objective::StepTime.
DesignResult find_split(const Problem& problem, const ChipDesign& design,
                        const SearchOptions& options);

}  // namespace dfsearch
