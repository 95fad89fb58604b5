#pragma once
// A derived chip, and the answers of a search over its budgets, as JSON (docs/technology.md,
// section 5; docs/results.md).

#include "design/find_split.hpp"
#include "io/text/json_text.hpp"
#include "model/machine/machine.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// The shares that the budget leaves to the search, as fractions, by class.
Json split_json(const ChipDesign& design, const Chip& chip);

/// Areas in mm2, edges in mm, everything else in SI base units; null for derived values that a
/// given value replaces.  `system` is the machine with this chip.
Json chip_json(const ChipDesign& design, const Chip& chip, const Machine& system);

Json best_splits_json(const ChipDesign& design, const DesignResult& result);
Json gains_json(const DesignResult& result);

}  // namespace dfsearch
