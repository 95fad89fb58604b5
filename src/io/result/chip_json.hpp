#pragma once
// A derived chip as JSON (docs/technology.md, section 5).

#include "io/text/json_text.hpp"
#include "model/machine/machine.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// What the shares that the budget leaves to the search came to, as fractions, by class.
Json split_json(const ChipDesign& design, const Chip& chip);

/// Areas in mm2, edges in mm, everything else in SI base units; null for what a given value
/// hides.  `system` is the machine with this chip.
Json chip_json(const ChipDesign& design, const Chip& chip, const Machine& system);

}  // namespace dfsearch
